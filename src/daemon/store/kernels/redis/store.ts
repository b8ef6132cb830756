import { parseRedisUrl } from '../../../settings/addresses.ts';
import { StoreOfAnotherLayout } from '../../failures.ts';
import { LINK } from '../../links/links.ts';
import { replicaStore } from '../../replicas.ts';
import { type Bounds, conditionOf, type Store, storeOver } from '../../store.ts';
import { countKeys } from './census.ts';
import { Changes } from './changes.ts';
import { RedisConnection } from './connection.ts';
import { RedisKernel } from './kernel.ts';
import { EVERY_KEY, LAYOUT, LAYOUT_KEY } from './keys.ts';
import { rewriteFiles } from './rewrite-files.ts';
import { scan } from './scan.ts';
import { adviceOn, lookAtServer } from './server.ts';

/**
 * Text of a run is appended at most ten times a second, because a command for each word would cost more than everything
 * else.
 */
const GATHER_MS = 100;

interface RedisStoreOptions extends Partial<Bounds> {
  /** REDIS_URL. */
  url: string;
  /** REDIS_DURABILITY=always. */
  isAlways?: boolean;
  /** The time of the store in tests. If absent, the server's time is used. */
  now?: () => number;
}

/**
 * The store that many daemons share (agentd-store(7), "Redis").
 * @throws StoreUnavailable, StoreTooOld, StoreOfAnotherLayout
 */
export async function openRedisStore({
  url,
  isAlways = false,
  now,
  ...bounds
}: RedisStoreOptions): Promise<Store> {
  const connection = new RedisConnection(parseRedisUrl(url), now);
  await connection.connect();
  const server = await lookAtServer(connection);
  connection.awaitDurability(server, isAlways);
  await checkLayout(connection);
  const kernel = new RedisKernel({ connection, changes: new Changes(connection) });
  return storeOver(
    kernel,
    {
      memories: null,
      // No maintenance is needed, because keys expire by themselves.
      maintenance: () => null,
      replicas: replicaStore(kernel),
      advice: async () => adviceOn(server, isAlways),
      census: () => countKeys(connection, { kind: LINK.name, exactly: LINK.shared?.keys.exactly as RegExp }),
      condition: () => conditionOf('Redis', connection.failure),
      expectRoom: () => undefined,
      hints: { gather_ms: GATHER_MS, hintsMayBeLost: true },
      async scrub(rings) {
        await kernel.sweep(rings);
        await rewriteFiles(connection.nodes);
      },
    },
    bounds,
  );
}

/**
 * Records the layout in a store that is empty, and refuses a store of another layout. A store without a record is older
 * than the record. `commit.lua` records it again, in case the server has lost its keys.
 * @throws StoreOfAnotherLayout
 */
async function checkLayout(connection: RedisConnection): Promise<void> {
  const read = () => connection.send(() => connection.client.get(LAYOUT_KEY));
  let found = await read();
  if (found === null) {
    if (!(await hasKeys(connection)))
      await connection.send(() => connection.client.set(LAYOUT_KEY, LAYOUT, 'NX'));
    // If there are keys, another daemon may have recorded the layout and written them since the first read.
    found = await read();
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
