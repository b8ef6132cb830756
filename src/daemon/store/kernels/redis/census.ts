import type { KeyCensus } from '../../store.ts';
import type { RedisConnection } from './connection.ts';
import { documentPrefix, kindOfKey, listKey } from './keys.ts';

/** Number of keys that one step of `SCAN` examines. */
const STEP = 1000;
/** Maximum number of steps for each node: if other programs also fill the server, only a part of it is examined. */
const STEPS_MAX = 200;

/**
 * The kinds whose documents all expire by themselves. Other keys are indexes, or end with the work that they belong to.
 */
const EXPIRING: ReadonlySet<string> = new Set([
  ...['session', 'session_name', 'session_claim', 'key', 'seen', 'action', 'alias', 'limit', 'budget'],
  ...['guard_user', 'guard_turns', 'erased', 'replica', 'reload'],
]);

/**
 * Counts the keys of agentd by kind, and those that should expire but do not. The work is bounded, and no values are
 * read.
 */
export async function countKeys(
  connection: RedisConnection,
  shared: { kind: string; exactly: RegExp },
): Promise<KeyCensus> {
  const kinds = new Map<string, { keys: number; endless: number }>();
  const seen = new Set<string>();
  let isWhole = true;
  for (const node of connection.nodes) {
    let cursor = '0';
    let steps = 0;
    do {
      const [next, found] = await connection.send(() => node.scan(cursor, 'COUNT', STEP));
      cursor = next;
      // SCAN may return a key twice.
      const findKind = (key: string) =>
        shared.exactly.test(key) ? shared.kind : kindBeside(key, shared.kind);
      const fresh = found.filter((key) => !seen.has(key) && findKind(key) !== null);
      for (const key of fresh) seen.add(key);
      const ttls = await connection.send(() => Promise.all(fresh.map((key) => node.pttl(key))));
      fresh.forEach((key, place) => {
        const kind = findKind(key) as string;
        const count = kinds.get(kind) ?? { keys: 0, endless: 0 };
        count.keys++;
        if (ttls[place] === -1 && isDocument(key, kind) && EXPIRING.has(kind)) count.endless++;
        kinds.set(kind, count);
      });
    } while (cursor !== '0' && ++steps < STEPS_MAX);
    isWhole &&= cursor === '0';
  }
  return { kinds: new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1))), isWhole };
}

/** What is stored beside shared texts is counted apart from them. */
function kindBeside(key: string, shared: string): string | null {
  const kind = kindOfKey(key);
  return kind === shared ? `${kind}_facts` : kind;
}

/** Whether the key is that of a document or of its list, and not of an index. */
function isDocument(key: string, kind: string): boolean {
  return key.startsWith(documentPrefix(kind)) || key.startsWith(listKey(kind, ''));
}
