import { StoreOfAnotherLayout } from '../failures.ts';
import type { RedisConnection } from './connection.ts';
import type { RedisKeyspace } from './keyspace.ts';

/**
 * Names the keys and their content. Change it if an earlier version could not read what this version writes, or the
 * other way around.
 */
export const LAYOUT = 1;

/** All keys of agentd except links, in every layout that there was. */
const EVERY_KEY = 'agentd:{*';

/**
 * Records the layout in a store that is empty, and refuses a store of another layout. A store without a record is older
 * than the record. While daemons run, they record it again (`record-replica`), in case the server has lost its keys.
 * @throws StoreOfAnotherLayout
 */
export async function checkLayout(redis: RedisKeyspace, connection: RedisConnection): Promise<void> {
  const at = redis.names.key('layout', null, 'number');
  const read = () => redis.send(() => redis.client.get(at));
  let found = await read();
  if (found === null) {
    if (!(await hasKeys(redis))) await redis.send(() => redis.client.set(at, LAYOUT, 'NX'));
    // If there are keys, another daemon may have recorded the layout and written them since the first read.
    found = await read();
  }
  if (found === String(LAYOUT)) return;
  connection.close();
  const difference = `${found === null ? 'its keys have no layout' : `layout ${found}`} instead of layout ${LAYOUT}`;
  throw new StoreOfAnotherLayout(connection.place, difference);
}

async function hasKeys(redis: RedisKeyspace): Promise<boolean> {
  for await (const keys of redis.scan(EVERY_KEY)) if (keys.length > 0) return true;
  return false;
}
