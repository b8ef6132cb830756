import type { Redis } from 'ioredis';
import { StoreUnavailable } from '../../../errors.ts';
import type { Kind } from '../kernel.ts';
import type { RedisConnection } from './connection.ts';
import { documentPrefix, originalKey } from './keys.ts';

/** Number of keys that one step of `SCAN` examines. */
const SCAN_COUNT = 1000;
/** The number of slots in a Cluster. */
const SLOTS = 16_384;
/** The fields of a line of `CLUSTER NODES`: id, flags, configuration epoch and, from this one on, slots. */
const [ID, FLAGS, EPOCH, FIRST_SLOTS] = [0, 2, 6, 8];

/** The keys of the documents of a kind, in batches. Those that are written in the meantime may be missing. */
export async function* scanKeys(
  connection: RedisConnection,
  { name, shared }: Kind<never, unknown>,
): AsyncGenerator<string[]> {
  const prefix = documentPrefix(name);
  if (shared) {
    for await (const keys of scan(connection, shared.keys.glob)) {
      const own = keys.filter((key) => shared.keys.exactly.test(key));
      if (own.length > 0) yield own;
    }
    return;
  }
  for await (const keys of scan(connection, `${prefix}*`))
    yield keys.map((key) => originalKey(key.slice(prefix.length)));
}

/**
 * The keys that a pattern matches, on all nodes, in batches.
 * @throws StoreUnavailable also if slots of the Cluster are moved in the meantime: then other keys may be missing, too.
 */
export async function* scan(connection: RedisConnection, pattern: string): AsyncGenerator<string[]> {
  const slots = await slotsNow(connection);
  const seen = new Set<string>();
  let steps = connection.nodes.map((node) => ({ node, cursor: '0' }));
  while (steps.length > 0) {
    const found = await Promise.all(
      steps.map(({ node, cursor }) =>
        connection.send(() => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)),
      ),
    );
    steps = steps
      .map(({ node }, place) => ({ node, cursor: found[place]?.[0] ?? '0' }))
      .filter(({ cursor }) => cursor !== '0');
    // SCAN may return a key twice.
    const fresh = [...new Set(found.flatMap(([, keys]) => keys))].filter((key) => !seen.has(key));
    for (const key of fresh) seen.add(key);
    if (fresh.length > 0) yield fresh;
  }
  if ((await slotsNow(connection)) !== slots)
    throw new StoreUnavailable(new Error('slots of the Cluster have been moved'));
}

/** Which node has which slots; null if this is no Cluster. */
async function slotsNow(connection: RedisConnection): Promise<string | null> {
  return connection.isCluster ? connection.send(() => readSlots(connection.nodes)) : null;
}

/**
 * Which slots each master of a Cluster has, as text that can be compared. It contains the epoch of each master, which
 * increases when the master gets a slot, so it also differs if a slot was moved and moved back.
 * @throws Error if a slot is being moved, or if a slot belongs to none of these masters.
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
async function readSlots(masters: readonly Redis[]): Promise<string> {
  const lines = await Promise.all(
    masters.map(async (node) => {
      const all = String(await node.cluster('NODES')).split('\n');
      const fields = all.map((line) => line.split(' '));
      return fields.find((line) => line[FLAGS]?.split(',').includes('myself')) ?? [];
    }),
  );
  const slots = lines.map((line) => line.slice(FIRST_SLOTS));
  const held = slots.flat().reduce((sum, range) => sum + countSlots(range), 0);
  // A slot that is being moved is listed as `[93-<-ID]` or `[93->-ID]`.
  if (held !== SLOTS || slots.flat().some((range) => range.startsWith('[')))
    throw new Error('slots of the Cluster are being moved');
  return lines.map((line, n) => [line[ID], line[EPOCH], ...(slots[n] ?? [])].join(' ')).join('\n');
}

/** The number of slots in a range such as `93` or `0-5460`. */
function countSlots(range: string): number {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
  return from === undefined ? 0 : Number(to) - Number(from) + 1;
}
