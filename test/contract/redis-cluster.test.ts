import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openRedisStore } from '../../src/daemon/store/redis/store.ts';
import { type RedisServers, startCluster, startSentinel } from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import { redisUnderTest } from '../support/redis-under-test.ts';
import { anInboxMessage, aSession, aTrace } from './fixtures.ts';
import { describeStore } from './store-contract.ts';
import { claimSession, saveSession } from './store-writes.ts';

const traceRetentionMs = 7 * 24 * 3600 * 1000;

describe.skipIf(!hasRedis)('on a Cluster', () => {
  let cluster: RedisServers;
  beforeAll(async () => {
    cluster = await startCluster(3);
  });
  afterAll(() => cluster.stop());

  describeStore('redis cluster', (wanted) => redisUnderTest(cluster, wanted));
});

describe.skipIf(!hasRedis)('a failover by Sentinel', () => {
  it('is followed by the store, and with REDIS_DURABILITY=always no acknowledged write is lost', async () => {
    const servers = await startSentinel();
    const store = await openRedisStore({ url: servers.url, traceRetentionMs, isAlways: true });
    try {
      const session = aSession(Date.now());
      await saveSession(store, session);
      const message = anInboxMessage({ message_id: 'm' });
      expect(await store.inbox.enqueue([message])).toEqual(['kept']);
      const claim = await claimSession(store, 'perhaps unknown to the new master');
      await servers.kill(0);
      await vi.waitFor(() => expect(store.condition().writable).toBe(false), { timeout: 60_000 });
      const began = performance.now();
      await vi.waitFor(() => store.check(), { timeout: 60_000, interval: 100 });
      expect(performance.now() - began).toBeLessThan(15_000);
      expect(await store.sessions.find(session.session_id)).toEqual(session);
      expect(await store.inbox.find(message.id)).toMatchObject({ state: 'waiting' });
      // If the claim did not reach the replica, its writes are refused.
      const outcome = await store.commitTurn(claim, { trace: aTrace(null) }).catch(() => 'rejected');
      expect(['committed', 'lost', 'rejected']).toContain(outcome);
    } finally {
      await store.close();
      await servers.stop();
    }
  });
});
