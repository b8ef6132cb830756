import type { RedisConnection } from './connection.ts';

export interface RedisHash {
  key: string;
  /** In the order that was asked for; null: the field is missing. */
  fields: (string | null)[];
}

/** Fields of all hashes of a kind, in bites. Those that expire meanwhile are left out. */
export async function* readHashes(
  redis: RedisConnection,
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
