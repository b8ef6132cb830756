import { afterAll, beforeAll, describe } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { redisUnderTest } from '../support/redis-under-test.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(!hasRedis)('on a real server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  describeStore('redis', (wanted) => redisUnderTest(server, wanted));
});
