import { StoreUnsharded } from '../failures.ts';
import type { RedisConnection } from './connection.ts';
import { KeyNames } from './key-names.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** The hash tag that all keys had in a Cluster before there were shards. */
const BEFORE_SHARDS = 'agentd';

/** Keys of that layout that never expire. At least one exists if messages, actions or audit lines were ever stored. */
const SIGNS = [
  ['inbox', 'clock'],
  ['inbox', 'number'],
  ['actions', 'number'],
  ['audit', 'key'],
] as const;

/** @throws StoreUnsharded if an earlier version has written to this Cluster. */
export async function checkLayout(redis: RedisKeyspace, connection: RedisConnection): Promise<void> {
  if (!redis.isSharded) return;
  const names = new KeyNames(BEFORE_SHARDS);
  const keys = SIGNS.map(([kind, part]) => names.key(kind, null, part));
  if ((await connection.send(() => connection.client.exists(...keys))) === 0) return;
  connection.close();
  throw new StoreUnsharded(connection.place);
}
