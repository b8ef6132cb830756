import type { Redis } from 'ioredis';
import type { KeyCensus } from '../../store.ts';
import { HEAD_LENGTH, RedisDocument } from './cache.ts';
import type { RedisConnection } from './connection.ts';
import { documentPrefix, kindOfKey, listKey } from './keys.ts';

/** Number of keys that one step of `SCAN` examines. */
const STEP = 1000;
/** Maximum number of steps for each node: if other programs also fill the server, only a part of it is examined. */
const STEPS_MAX = 200;

/** Counts the keys of agentd by kind, and those that should expire but do not. The work is bounded. */
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
      const isEndless = async (key: string) => {
        const document = documentOf(key, findKind(key) as string);
        return document !== null && (await node.pttl(key)) === -1 && (await hasExpiry(node, document));
      };
      const endless = await connection.send(() => Promise.all(fresh.map(isEndless)));
      fresh.forEach((key, place) => {
        const kind = findKind(key) as string;
        const count = kinds.get(kind) ?? { keys: 0, endless: 0 };
        count.keys++;
        if (endless[place]) count.endless++;
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

/** The key of the document that a key belongs to: itself, or the document of a list; null for an index. */
function documentOf(key: string, kind: string): string | null {
  const [document, list] = [documentPrefix(kind), listKey(kind, '')];
  if (key.startsWith(list)) return document + key.slice(list.length);
  return key.startsWith(document) ? key : null;
}

/** Whether the document is to expire, or has expired. */
async function hasExpiry(node: Redis, document: string): Promise<boolean> {
  const head = await node.getrange(document, 0, HEAD_LENGTH - 1);
  return head === '' || RedisDocument.of(head, 0).expires_at !== null;
}
