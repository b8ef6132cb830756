import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { StoreOfAnotherLayout } from '../../src/daemon/store/failures.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { aSession } from './fixtures.ts';
import { saveSession } from './store-writes.ts';

describe.skipIf(!hasRedis)('the layout in Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it('is accepted if another daemon records it, and writes, while this one looks for keys', async () => {
    const open = () => openRedisStore({ url: server.url, traceRetentionMs: 1000 });
    const { scan } = Redis.prototype;
    vi.spyOn(Redis.prototype, 'scan').mockImplementationOnce(async function (this: Redis, ...given: never[]) {
      const other = await open();
      await saveSession(other, aSession(Date.now(), { user_id: 'ada' }));
      await other.close();
      return Reflect.apply(scan, this, given) as never;
    } as never);
    const store = await open();
    expect(await store.sessions.list({ limit: 2 })).toMatchObject([{ user_id: 'ada' }]);
    await store.close();
  });

  it.each([
    ['agentd:{session:s}:state', 'x', 'its keys have no layout instead of layout 2'],
    ['agentd:{s07}:session:s:state', 'x', 'its keys have no layout instead of layout 2'],
  ])('is not accepted if there is a key of an earlier one, such as %s', async (key, value, difference) => {
    await server.flush();
    await server.client.set(key, value);
    const opening = openRedisStore({ url: server.url, traceRetentionMs: 1000 });
    await expect(opening).rejects.toThrow(StoreOfAnotherLayout);
    await expect(opening).rejects.toThrow(difference);
    expect(await server.client.keys('*')).toEqual([key]);
  });
});
