import type { RedisKeyspace } from './keyspace.ts';

export interface RedisHash {
  key: string;
  /** The fields in the requested order; null if a field is missing. */
  fields: (string | null)[];
}

/** Fields of all hashes of a kind, in batches. Hashes that expire in the meantime are left out. */
export async function* readHashes(
  redis: RedisKeyspace,
  kind: string,
  part: string,
  names: readonly string[],
): AsyncGenerator<RedisHash[]> {
  for await (const keys of redis.scan(redis.names.pattern(kind, part))) {
    const found = await redis.send(() => Promise.all(keys.map((key) => redis.client.hmget(key, ...names))));
    yield found
      .map((fields, place) => ({ key: keys[place] as string, fields }))
      .filter(({ fields }) => fields.some((field) => field !== null));
  }
}
