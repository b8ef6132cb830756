import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import type { StoreUnderTest, StoreWanted } from '../contract/store-contract.ts';
import { storeUnderTest } from './store-under-test.ts';

/** An empty store for the contract, on servers that a test has started. */
export async function redisUnderTest(
  servers: { url: string; flush(): Promise<void> },
  wanted: StoreWanted,
): Promise<StoreUnderTest> {
  await servers.flush();
  return storeUnderTest((now) => openRedisStore({ ...wanted, url: servers.url, now }));
}
