import type { Redis } from 'ioredis';

/** The number of slots in a Cluster. */
const SLOTS = 16_384;
/** The fields of a line of `CLUSTER NODES`: id, flags, configuration epoch and, from this one on, slots. */
const [ID, FLAGS, EPOCH, FIRST_SLOTS] = [0, 2, 6, 8];

/**
 * Which slots each master of a Cluster has, as text that can be compared. It contains the epoch of each master, which
 * increases when the master gets a slot, so it also differs if a slot was moved and moved back.
 * @throws Error if a slot is being moved, or if a slot belongs to none of these masters.
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
export async function slotsOf(masters: readonly Redis[]): Promise<string> {
  const lines = await Promise.all(
    masters.map(async (node) => {
      const all = String(await node.cluster('NODES')).split('\n');
      const fields = all.map((line) => line.split(' '));
      return fields.find((line) => line[FLAGS]?.split(',').includes('myself')) ?? [];
    }),
  );
  const slots = lines.map((line) => line.slice(FIRST_SLOTS));
  const held = slots.flat().reduce((sum, range) => sum + sizeOf(range), 0);
  // A slot that is being moved is listed as `[93-<-ID]` or `[93->-ID]`.
  if (held !== SLOTS || slots.flat().some((range) => range.startsWith('[')))
    throw new Error('slots of the Cluster are being moved');
  return lines.map((line, n) => [line[ID], line[EPOCH], ...(slots[n] ?? [])].join(' ')).join('\n');
}

/** The number of slots in a range such as `93` or `0-5460`. */
function sizeOf(range: string): number {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
  return from === undefined ? 0 : Number(to) - Number(from) + 1;
}
