import { createHmac, hash } from 'node:crypto';
import type { AgentRuntime } from '../../agent/index.ts';
import { runtimeName } from '../agent/load.ts';
import type { Settings } from '../settings/settings.ts';
import { digestRecord } from '../tools/definition-digest.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import type { AgentCondition, AgentEntry, MessageFacts } from './agent-entry.ts';

/** An agent as it answers messages. */
export interface Agent extends Pick<AgentEntry, 'name' | 'when' | 'canary_percent'> {
  readonly runtime: AgentRuntime;
  /** All tools of the daemon, or only those that the agent lists. */
  readonly tools: ToolRegistry;
  readonly hasMemory: boolean;
  /** The digest of its instructions, tools and model. */
  digest(): string;
}

export interface AgentParts {
  entry: AgentEntry;
  runtime: AgentRuntime;
  /** The text of its instructions; undefined if there are none. */
  instructions: string | undefined;
  settings: DigestSettings;
}

/** All agents of the daemon. Each message is answered by one of them. */
export class Agents {
  readonly all: readonly [...Agent[], Agent];
  readonly #key: () => Promise<Uint8Array>;

  /** @param key the key of the hash that assigns senders to shares; the same on all replicas, and always the same */
  constructor(parts: readonly AgentParts[], registry: ToolRegistry, key: () => Promise<Uint8Array>) {
    const agents = parts.map((one) => createAgent(one, registry));
    const [last] = agents.slice(-1);
    if (last === undefined) throw new Error('there is no agent');
    this.all = [...agents.slice(0, -1), last];
    this.#key = key;
  }

  /** The agent that answers all messages that no other one answers. */
  get last(): Agent {
    return this.all[this.all.length - 1] as Agent;
  }

  /** @param sender always the same for one person, or else for one user of a platform or one session */
  choose(facts: MessageFacts, sender: string): Agent | Promise<Agent> {
    if (this.all.length === 1) return this.last;
    return chooseEntry(this.all, facts, async ({ name, canary_percent }) =>
      isInShare(await this.#key(), { agent: name, sender, percent: canary_percent ?? 100 }),
    );
  }

  /** One digest of all agents. */
  digest(): string {
    return combineDigests(this.all.map(({ name, digest }) => [name, digest()]));
  }
}

/** @param registry all tools of the daemon */
export function createAgent(
  { entry, runtime, instructions, settings }: AgentParts,
  registry: ToolRegistry,
): Agent {
  const tools = subset(registry, entry);
  const digest = onChange(
    () => tools.tools(),
    (all) => agentDigest({ settings, instructions, tools: all.map(digestRecord) }),
  );
  const { name, when, canary_percent, memory: hasMemory } = entry;
  return { name, when, canary_percent, runtime, tools, hasMemory, digest };
}

/** The tools that exist for an agent. */
function subset(registry: ToolRegistry, { tools: listed, memory }: AgentEntry): ToolRegistry {
  if (listed === undefined && memory) return registry;
  const names = listed && new Set(listed.map(({ name }) => name));
  const exists = (tool: Tool) => (names?.has(tool.name) ?? true) && (memory || tool.of_memory !== true);
  const filtered = onChange(
    () => registry.tools(),
    (all) => all.filter(exists),
  );
  return { ...registry, tools: filtered };
}

/** A function that computes a value again only after its input has changed. */
export function onChange<Input, Value>(read: () => Input, compute: (input: Input) => Value): () => Value {
  let last: { input: Input; value: Value } | null = null;
  return () => {
    const input = read();
    if (last?.input !== input) last = { input, value: compute(input) };
    return last.value;
  };
}

type Choosable = Pick<AgentEntry, 'name' | 'when' | 'canary_percent'>;

/**
 * The agent that answers a message: the first one whose condition fits and to whose share the sender belongs. The last
 * one fits always.
 * @param sharesIn whether the sender belongs to the share of an agent; called only for agents with a share
 */
export async function chooseEntry<Entry extends Choosable>(
  entries: readonly [...Entry[], Entry],
  facts: MessageFacts,
  sharesIn: (entry: Entry) => Promise<boolean>,
): Promise<Entry> {
  for (const entry of entries.slice(0, -1)) {
    if (!fits(entry.when, facts)) continue;
    if (entry.canary_percent === null || (await sharesIn(entry))) return entry;
  }
  return entries.at(-1) as Entry;
}

function fits(when: AgentCondition | null, facts: MessageFacts): boolean {
  if (when === null) return true;
  const { channel, tenant_id, workspace, locale } = when;
  return (
    isOneOf(channel, facts.channel) &&
    isOneOf(tenant_id, facts.tenant_id) &&
    isOneOf(workspace, facts.workspace) &&
    (locale === undefined || locale.some((tag) => covers(tag, facts.locale)))
  );
}

function isOneOf(wanted: readonly string[] | undefined, value: string | null): boolean {
  return wanted === undefined || (value !== null && wanted.includes(value));
}

function covers(tag: string, locale: string | null): boolean {
  const [general, special] = [canonicalTag(tag), canonicalTag(locale ?? '')];
  return special === general || special.startsWith(`${general}-`);
}

function canonicalTag(tag: string): string {
  return tag.replaceAll('_', '-').toLowerCase();
}

const SHARES = 2 ** 32;

/**
 * Whether a sender belongs to the share of an agent: always the same answer for one sender and agent, on every replica.
 * Without the key, nobody can tell to which share a person belongs.
 * @param percent 0 to 100
 */
export function isInShare(
  key: Uint8Array,
  { agent, sender, percent }: { agent: string; sender: string; percent: number },
): boolean {
  const hash = createHmac('sha256', key)
    .update(JSON.stringify(['canary', agent, sender]))
    .digest();
  return (hash.readUInt32BE(0) / SHARES) * 100 < percent;
}

/** Length of the digest, in characters. It is compared by eye. */
const DIGEST_LENGTH = 12;

/** The settings that choose the model and how it answers. */
const MODEL_SETTINGS = [
  'AGENT_MODEL',
  'AGENT_BASE_URL',
  'AGENT_PROVIDER_OPTIONS',
  'AGENT_TEMPERATURE',
  'AGENT_MAX_OUTPUT_TOKENS',
  'AGENT_HISTORY_TOKENS',
  'AGENT_MAX_STEPS',
  'AGENT_FALLBACK_MODEL',
  'AGENT_FALLBACK_BASE_URL',
] as const satisfies readonly (keyof Settings)[];

type DigestSettings = Pick<Settings, (typeof MODEL_SETTINGS)[number] | 'AGENT_RUNTIME'>;

/** Everything that decides how an agent answers, apart from the conversation. */
export interface DigestedParts {
  settings: DigestSettings;
  /** The text of the instructions; undefined if there are none. */
  instructions: string | undefined;
  /** The digests of the records of its tools, in any order. */
  tools: readonly string[];
}

/** The digest of several agents. That of a single one is its own. @param digests the name and the digest of each */
function combineDigests(digests: readonly (readonly [name: string, digest: string])[]): string {
  const [first] = digests;
  if (digests.length === 1 && first) return first[1];
  return hash('sha256', JSON.stringify(digests), 'hex').slice(0, DIGEST_LENGTH);
}

/**
 * A short hash of the instructions, the tools and the model of an agent: two daemons with the same digest answer alike.
 * It contains no secret.
 */
export function agentDigest({ settings, instructions, tools }: DigestedParts): string {
  const model = MODEL_SETTINGS.map((name) => [name, settings[name] ?? null]);
  const all = [runtimeName(settings), model, instructions ?? null, [...tools].sort()];
  return hash('sha256', JSON.stringify(all), 'hex').slice(0, DIGEST_LENGTH);
}
