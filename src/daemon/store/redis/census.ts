import type { KeyCensus } from '../store.ts';
import type { KeyNames } from './key-names.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** Number of keys that one step of `SCAN` examines. */
const STEP = 1000;
/** Maximum number of steps for each node: if other programs also fill the server, only a part of it is examined. */
const STEPS_MAX = 200;

/**
 * The parts of keys that expire by themselves, by kind. Other keys are indexes, or are deleted with the work that they
 * belong to.
 */
const EXPIRING: Readonly<Record<string, readonly string[]>> = {
  session: ['state', 'turns', 'summaries', 'name', 'count', 'claim'],
  key: ['claim', 'answer'],
  seen: ['facts'],
  action: ['record'],
  alias: ['link'],
  limit: ['hits'],
  budget: ['window'],
  user: ['guard'],
  'stream-key': ['stream'],
  erased: ['at'],
  bound: ['shard'],
  moved: ['tag'],
};

const LINK = /^[^:{]+:jwt:/;

/**
 * Counts the keys of agentd by kind, and those that should expire but do not. The work is bounded, and no values are
 * read.
 */
export async function countKeys(redis: RedisKeyspace): Promise<KeyCensus> {
  const kinds = new Map<string, { keys: number; endless: number }>();
  const seen = new Set<string>();
  let isWhole = true;
  for (const node of redis.nodes) {
    let cursor = '0';
    let steps = 0;
    do {
      const [next, found] = await redis.send(() => node.scan(cursor, 'COUNT', STEP));
      cursor = next;
      // SCAN may return a key twice.
      const fresh = found.filter((key) => !seen.has(key) && kindOf(key, redis.names) !== null);
      for (const key of fresh) seen.add(key);
      const ttls = await redis.send(() => Promise.all(fresh.map((key) => node.pttl(key))));
      fresh.forEach((key, place) => {
        const { kind, part } = kindOf(key, redis.names) as { kind: string; part: string };
        const count = kinds.get(kind) ?? { keys: 0, endless: 0 };
        count.keys++;
        if (ttls[place] === -1 && EXPIRING[kind]?.includes(part)) count.endless++;
        kinds.set(kind, count);
      });
    } while (cursor !== '0' && ++steps < STEPS_MAX);
    isWhole &&= cursor === '0';
  }
  return { kinds: new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1))), isWhole };
}

/** Kind and part of a key; null if the key belongs to another program. */
function kindOf(key: string, names: KeyNames): { kind: string; part: string } | null {
  if (LINK.test(key)) return { kind: 'link', part: '' };
  const name = names.tail(key);
  if (name === null) return null;
  const kind = /^[a-z-]+/.exec(name)?.[0] ?? 'other';
  return { kind, part: name.slice(name.lastIndexOf(':') + 1) };
}
