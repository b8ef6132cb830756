/**
 * The number of shards in a Cluster. All keys of a shard have one hash tag, so they are on one node. The number is part
 * of the layout of stored data: with a different number, stored records would not be found. 64 shards are enough for
 * more nodes than a site needs, and few enough to ask all of them for a list.
 */
export const SHARDS = 64;

/** The hash tag of the records that belong to no shard. They are small, and there is only one record of each kind. */
export const COMMON = 'all';

/** The hash tag of the shard to which a name belongs. */
export function shardOf(name: string): string {
  return tagOfShard(hash(name) % SHARDS);
}

/** The hash tags of all shards. */
export const SHARD_TAGS: readonly string[] = Array.from({ length: SHARDS }, (_, number) =>
  tagOfShard(number),
);

function tagOfShard(number: number): string {
  return `s${String(number).padStart(2, '0')}`;
}

/**
 * FNV-1a with 32 bits, folded, because its low bits alone are not mixed well.
 * @see https://www.rfc-editor.org/rfc/rfc9923
 */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let place = 0; place < text.length; place++)
    value = Math.imul(value ^ text.charCodeAt(place), 0x01000193);
  return (value ^ (value >>> 16)) >>> 0;
}
