import { StoreOfAnotherLayout } from '../../failures.ts';
import type { RedisConnection } from './connection.ts';
import { EVERY_KEY, LAYOUT, LAYOUT_KEY } from './keys.ts';
import { scan } from './scan.ts';

/** Where earlier layouts have recorded themselves. */
const FORMER_KEY = 'agentd:{layout}:number';

/**
 * Records the layout in a store that is empty, and refuses a store of another layout. A store without a record is older
 * than the record. `commit.lua` records it again, in case the server has lost its keys.
 * @throws StoreOfAnotherLayout
 */
export async function checkLayout(connection: RedisConnection): Promise<void> {
  const read = () => connection.send(() => connection.client.get(LAYOUT_KEY));
  let found = await read();
  if (found === null) {
    if (!(await hasKeys(connection)))
      await connection.send(() => connection.client.set(LAYOUT_KEY, LAYOUT, 'NX'));
    // If there are keys, another daemon may have recorded the layout and written them since the first read.
    found = (await read()) ?? (await connection.send(() => connection.client.get(FORMER_KEY)));
  }
  if (found === String(LAYOUT)) return;
  connection.close();
  const difference = `${found === null ? 'its keys have no layout' : `layout ${found}`} instead of layout ${LAYOUT}`;
  throw new StoreOfAnotherLayout(connection.place, difference);
}

async function hasKeys(connection: RedisConnection): Promise<boolean> {
  for await (const keys of scan(connection, EVERY_KEY)) if (keys.length > 0) return true;
  return false;
}
