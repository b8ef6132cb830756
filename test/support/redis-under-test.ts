import { openRedisStore } from '../../src/daemon/store/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StoreUnderTest, StoreWanted } from '../contract/store-contract.ts';

/** An empty store on servers that a test has started, for the contract. */
export async function redisUnderTest(
  servers: { url: string; flush(): Promise<void> },
  wanted: StoreWanted,
): Promise<StoreUnderTest> {
  await servers.flush();
  let time = Date.UTC(2030, 0, 1);
  const instances: Store[] = [];
  const open = async () => {
    const instance = await openRedisStore({ ...wanted, url: servers.url, now: () => time });
    instances.push(instance);
    return instance;
  };
  const store = await open();
  return {
    store,
    peer: open,
    beside: open,
    async restart() {
      await store.close();
      return open();
    },
    boundsAnonymous: false,
    now: () => time,
    advance(ms) {
      time += ms;
    },
    async dispose() {
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
}
