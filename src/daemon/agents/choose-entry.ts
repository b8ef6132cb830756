import { createHmac } from 'node:crypto';
import type { AgentCondition, AgentEntry, MessageFacts } from './agent-entry.ts';

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
