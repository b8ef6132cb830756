import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RedisKeyspace } from '../../src/daemon/store/redis/keyspace.ts';
import { openRedisStore } from '../../src/daemon/store/redis/store.ts';
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
    const { scan } = RedisKeyspace.prototype;
    vi.spyOn(RedisKeyspace.prototype, 'scan').mockImplementationOnce(async function* (
      this: RedisKeyspace,
      pattern,
    ) {
      const other = await open();
      await saveSession(other, aSession(Date.now(), { user_id: 'ada' }));
      await other.close();
      yield* scan.call(this, pattern);
    });
    const store = await open();
    expect(await store.sessions.list({ limit: 2 })).toMatchObject([{ user_id: 'ada' }]);
    await store.close();
  });
});
