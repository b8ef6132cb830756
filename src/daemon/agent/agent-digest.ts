import { createHash } from 'node:crypto';
import type { Settings } from '../settings/settings.ts';
import { runtimeName } from './load.ts';

/** Length of the digest, in characters. It is compared by eye. */
const LENGTH = 12;

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

export type DigestSettings = Pick<Settings, (typeof MODEL_SETTINGS)[number] | 'AGENT_RUNTIME'>;

/** Everything that decides how an agent answers, apart from the conversation. */
export interface DigestedParts {
  settings: DigestSettings;
  /** The text of the instructions; undefined if there are none. */
  instructions: string | undefined;
  /** The digests of the records of its tools, in any order. */
  tools: readonly string[];
}

/** The digest of several agents. That of a single one is its own. @param digests the name and the digest of each */
export function combineDigests(digests: readonly (readonly [name: string, digest: string])[]): string {
  const [first] = digests;
  if (digests.length === 1 && first) return first[1];
  return createHash('sha256').update(JSON.stringify(digests)).digest('hex').slice(0, LENGTH);
}

/**
 * A short hash of the instructions, the tools and the model of an agent: two daemons with the same digest answer alike.
 * It contains no secret.
 */
export function agentDigest({ settings, instructions, tools }: DigestedParts): string {
  const model = MODEL_SETTINGS.map((name) => [name, settings[name] ?? null]);
  const all = [runtimeName(settings), model, instructions ?? null, [...tools].sort()];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, LENGTH);
}
