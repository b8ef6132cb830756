import { afterAll, beforeAll, describe } from 'vitest';
import { openRedisStore } from '../../src/daemon/store/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(!hasRedis)('on a real server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  describeStore('redis', async (wanted) => {
    await server.flush();
    let time = Date.UTC(2030, 0, 1);
    const instances: Store[] = [];
    const open = async () => {
      const instance = await openRedisStore({ ...wanted, url: server.url, now: () => time });
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
  });
});
