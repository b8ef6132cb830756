import { afterAll, beforeAll, describe } from 'vitest';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { hasRedis, startRedis } from '../support/redis-server.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(!hasRedis).each([
  ['redis', () => startRedis()],
  ['redis cluster', () => startCluster(3)],
])('on a real server', (name, start) => {
  let server: { url: string; flush(): Promise<void>; stop(): Promise<void> };
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  describeStore(name, async (wanted) => {
    await server.flush();
    return storeUnderTest((now) => openRedisStore({ ...wanted, url: server.url, now }));
  });
});
