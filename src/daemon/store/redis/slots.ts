import type { Redis } from 'ioredis';

/** The number of slots in a Cluster. */
const SLOTS = 16_384;
/** The fields of a line of `CLUSTER NODES` before the slots. */
const FIELDS_BEFORE = 8;

/**
 * Which slots each master of a Cluster has, as text that can be compared.
 * @throws Error if a slot is being moved, or if a slot belongs to none of these masters.
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
export async function slotsOf(masters: readonly Redis[]): Promise<string> {
  const lines = await Promise.all(
    masters.map(async (node) => {
      const all = String(await node.cluster('NODES')).split('\n');
      return all.find((line) => line.includes('myself')) ?? '';
    }),
  );
  const slots = lines.map((line) => line.split(' ').slice(FIELDS_BEFORE));
  const held = slots.flat().reduce((sum, range) => sum + sizeOf(range), 0);
  // A slot that is being moved is listed as `[93-<-ID]` or `[93->-ID]`.
  if (held !== SLOTS || slots.flat().some((range) => range.startsWith('[')))
    throw new Error('slots of the Cluster are being moved');
  return lines.map((line, n) => `${line.split(' ')[0]} ${slots[n]?.join(' ')}`).join('\n');
}

/** The number of slots in a range such as `93` or `0-5460`. */
function sizeOf(range: string): number {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
  return from === undefined ? 0 : Number(to) - Number(from) + 1;
}
