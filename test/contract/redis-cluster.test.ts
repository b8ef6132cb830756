import { afterAll, beforeAll, describe } from 'vitest';
import { type RedisServers, startCluster } from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import { redisUnderTest } from '../support/redis-under-test.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(!hasRedis)('on a Cluster', () => {
  let cluster: RedisServers;
  beforeAll(async () => {
    cluster = await startCluster(3);
  });
  afterAll(() => cluster.stop());

  describeStore('redis cluster', (wanted) => redisUnderTest(cluster, wanted));
});
