import { type Cluster, Redis } from 'ioredis';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { parseRedisUrl } from '../../src/daemon/settings/addresses.ts';
import { createClient } from '../../src/daemon/store/kernels/redis/client.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import { freePorts } from '../support/free-ports.ts';
import {
  type ClusterServers,
  type RedisServers,
  startCluster,
  startSentinel,
} from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import { anInboxMessage, aSession, aTrace } from './fixtures.ts';
import { claimSession, saveSession } from './store-writes.ts';

// Most of these tests wait for servers, so they run at the same time.

/** These waits end within 15 s. A busy machine may take some times longer. */
const BOUND_MS = 60_000;

const traceRetentionMs = 7 * 24 * 3600 * 1000;

describe.skipIf(!hasRedis).concurrent('the addresses that the nodes of a Cluster announce', () => {
  const start = async (
    { onTestFinished }: TestContext,
    size: number,
    ...options: string[]
  ): Promise<ClusterServers> => {
    const cluster = await startCluster(size, { options });
    onTestFinished(() => cluster.stop());
    return cluster;
  };
  const open = async ({ onTestFinished }: TestContext, url: string) => {
    const store = await openRedisStore({ url, traceRetentionMs });
    onTestFinished(() => store.close());
    return store;
  };

  it('are completed if a node does not know its own address', async (test) => {
    const cluster = await start(test, 1);
    const [slots] = await nodeOf(test, cluster, 0).cluster('SLOTS');
    expect(slots?.[2]?.[0]).toBe('');
    const store = await open(test, cluster.url);
    const session = aSession(Date.now());
    await saveSession(store, session);
    expect(await store.sessions.find(session.session_id)).toEqual(session);
  });

  it('are completed if no node names a host, also after a slot was moved', async (test) => {
    const unknown = ['--cluster-preferred-endpoint-type', 'unknown-endpoint'];
    const cluster = await start(test, 3, ...unknown, '--bind', '127.0.0.1', '127.0.0.2');
    const url = cluster.url.replaceAll('127.0.0.1', '127.0.0.2');
    const client = createClient(parseRedisUrl(url)) as Cluster;
    test.onTestFinished(() => client.disconnect());
    const addresses = new Set<string>();
    client.on('+node', ({ options }: Redis) => addresses.add(`${options.host}:${options.port}`));
    await client.connect();
    const move = await cluster.moveSlot('k');
    expect(await client.incr('k')).toBe(1);
    await move.finish();
    expect(await client.incr('k')).toBe(2);
    expect([...addresses].sort()).toEqual(
      portsOf(cluster)
        .map((port) => `127.0.0.2:${port}`)
        .sort(),
    );
  });

  it('are named by the failure if they cannot be reached', async (test) => {
    const [nameless, elsewhere] = await Promise.all([
      start(test, 1, '--cluster-preferred-endpoint-type', 'hostname'),
      start(test, 2),
    ]);
    const [closed] = (await freePorts(1)) as [number];
    await nodeOf(test, elsewhere, 1).config('SET', 'cluster-announce-port', closed);
    await vi.waitFor(
      async () => expect(await nodeOf(test, elsewhere, 0).cluster('NODES')).toContain(`127.0.0.1:${closed}@`),
      60_000,
    );
    const url = `redis+cluster://127.0.0.1:${portsOf(elsewhere)[0]}`;
    const began = performance.now();
    const failureOf = (of: string) => open(test, of).catch(({ name, cause }) => `${name}: ${cause.message}`);
    const failures = await Promise.all([nameless.url, url].map(failureOf));
    expect(performance.now() - began).toBeLessThan(BOUND_MS);
    expect(failures[0]).toMatch(
      /^StoreUnavailable: .* cannot be reached at the address that it announces \(\?:\d+: getaddrinfo ENOTFOUND \?\); .* cluster-announce-hostname/,
    );
    expect(failures[1]).toContain(
      `announces (127.0.0.1:${closed}: connect ECONNREFUSED 127.0.0.1:${closed})`,
    );
  });
});

describe.skipIf(!hasRedis).concurrent('a Cluster that is not ready', () => {
  it('is waited for, but not for long', async (test) => {
    const cluster = await startCluster(1);
    test.onTestFinished(() => cluster.stop());
    const node = nodeOf(test, cluster, 0);
    const stateIs = (state: string) =>
      vi.waitFor(async () => expect(await node.cluster('INFO')).toContain(`cluster_state:${state}`), 60_000);
    await node.cluster('DELSLOTS', 5);
    await stateIs('fail');
    await expect(openRedisStore({ url: cluster.url, traceRetentionMs })).rejects.toMatchObject({
      name: 'StoreUnavailable',
      cause: { message: expect.stringMatching(/is not ready, .* a slot belongs to no node/) },
    });
    const opening = openRedisStore({ url: cluster.url, traceRetentionMs });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await node.cluster('ADDSLOTS', 5);
    await (await opening).close();
  });
});

/** A client of one of the nodes, for the test itself. */
function nodeOf({ onTestFinished }: TestContext, cluster: RedisServers, place: number): Redis {
  const node = new Redis(portsOf(cluster)[place] as number);
  onTestFinished(() => node.disconnect());
  return node;
}

/** The ports of the nodes. */
function portsOf({ url }: RedisServers): number[] {
  return [...url.matchAll(/:(\d+)/g)].map(([, port]) => Number(port));
}

const NOT_DURABLE = { message: expect.stringContaining('a write was not durable') };

describe.skipIf(!hasRedis).concurrent('a failover by Sentinel', () => {
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
      const again = { timeout: 60_000, interval: 100 };
      const began = performance.now();
      const found = await vi.waitFor(() => store.sessions.find(session.session_id), again);
      expect(performance.now() - began).toBeLessThan(BOUND_MS);
      expect(found).toEqual(session);
      // The Sentinel may close the connection once more when it tells the other servers of the new master.
      const kept = await vi.waitFor(() => store.inbox.find(message.id), again);
      expect(kept).toMatchObject({ state: 'waiting' });
      // The new master has no replica that could hold what is written now.
      await vi.waitFor(() => expect(store.check()).rejects.toMatchObject({ cause: NOT_DURABLE }), again);
      expect(store.condition().writable).toBe(false);
      // If the claim did not reach the replica, its writes are refused.
      const outcome = await store.commitTurn(claim, { trace: aTrace(null) }).catch(() => 'rejected');
      expect(['committed', 'lost', 'rejected']).toContain(outcome);
    } finally {
      await store.close();
      await servers.stop();
    }
  });
});
