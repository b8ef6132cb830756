import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../src/daemon/errors.ts';
import { parseRedisUrl } from '../../src/daemon/settings/addresses.ts';
import { StoreOfAnotherLayout } from '../../src/daemon/store/failures.ts';
import { createClient } from '../../src/daemon/store/kernels/redis/client.ts';
import { RedisConnection } from '../../src/daemon/store/kernels/redis/connection.ts';
import { LAYOUT_KEY } from '../../src/daemon/store/kernels/redis/keys.ts';
import { scan } from '../../src/daemon/store/kernels/redis/scan.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { dropLink } from '../support/drop-link.ts';
import { aResident, fillAsPerson, fillAsUser } from '../support/person-world.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { ada, aTrace, bob } from './fixtures.ts';
import { claimSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const LINK = 'chat:jwt:u1';

// On a Cluster, everything but the tokens of links is in one slot.
describe.skipIf(!hasRedis)('a store on a Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let nodes: Redis[];
  let stores: Store[];
  const open = async () => {
    const store = await openRedisStore({ url: cluster.url, traceRetentionMs: HOUR });
    stores.push(store);
    return store;
  };

  beforeAll(async () => {
    cluster = await startCluster(3);
    nodes = [...cluster.url.matchAll(/:(\d+)/g)].map(([, port]) => new Redis(Number(port)));
  });
  beforeEach(async () => {
    await cluster.flush();
    stores = [];
    return async () => void (await Promise.all(stores.map((store) => store.close())));
  });
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    await cluster.stop();
  });

  const nodeOf = async (key: string) => nodes[await cluster.masterOf(key)] as Redis;
  const putLink = ({ links }: Store, token: string, person = ada, expected: string | null = null) =>
    links.put({ key: LINK, token, person, ttl_ms: HOUR }, new Map([[LINK, expected]]));

  it('keeps all keys in one slot, except links, which have the documented keys', async () => {
    const store = await open();
    await fillAsPerson(store, Date.now(), aResident('Ada'));
    await fillAsUser(store, Date.now(), aResident('Ada'));
    const keys = (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
    const elsewhere = keys.filter((key) => !key.startsWith('agentd:{store}:'));
    expect(elsewhere).toEqual(['teamchat:jwt:UCANARYADA']);
    expect(await (await nodeOf(elsewhere[0] as string)).get(elsewhere[0] as string)).toBe('token-CANARYADA');
  });

  it.each(['chat:jwt:a}b', 'chat:jwt:{a}b', 'chat:jwt:a{b'])(
    'links a user whose id has braces: %s',
    async (key) => {
      const { links } = await open();
      expect(await links.put({ key, token: 'a.b.c', person: ada, ttl_ms: HOUR })).toBe(true);
      expect(await links.get(key)).toMatchObject({ key, token: 'a.b.c' });
      expect(await links.list({ limit: 9 })).toMatchObject([{ key, token: 'a.b.c' }]);
      expect(await dropLink(links, key)).toBe(true);
      expect(await links.get(key)).toBeNull();
    },
  );

  describe('the token of a link, which is in another slot than what is beside it', () => {
    /** Calls `work` just before the next token is stored, after all that is beside it. */
    function beforeToken(work: () => Promise<unknown>): void {
      const { run } = RedisConnection.prototype;
      vi.spyOn(RedisConnection.prototype, 'run').mockImplementation(async function (
        this: RedisConnection,
        name,
        key,
        ...rest
      ) {
        if (name === 'commit' && key === LINK) {
          vi.restoreAllMocks();
          await work();
        }
        return run.call(this, name, key, ...rest);
      });
    }
    const killed = async () => {
      throw new StoreUnavailable(new Error('the test has ended the process'));
    };

    it('is that of before if the daemon dies in between, with no alias of another person', async () => {
      const [one, two] = [await open(), await open()];
      await putLink(one, "ada's");
      await one.links.bindAlias(LINK, "ada's", { alias: 'chat:X', person: ada });
      beforeToken(killed);
      await expect(putLink(one, "bob's", bob, "ada's")).rejects.toThrow(StoreUnavailable);
      const found = await two.links.get(LINK);
      expect(found).toMatchObject({ token: "ada's" });
      expect([null, ada]).toContain(found?.alias?.person ?? null);
      expect(await putLink(two, "bob's", bob, "ada's")).toBe(true);
      expect(await two.links.get(LINK)).toMatchObject({ token: "bob's", alias: null });
      expect(await two.links.findByAlias('chat:X')).toBeNull();
    });

    it('is stored by only one of two daemons that expect the same token', async () => {
      const [one, two] = [await open(), await open()];
      const outcomes: boolean[] = [];
      beforeToken(async () => outcomes.push(await putLink(two, 'second', bob)));
      outcomes.push(await putLink(one, 'first'));
      expect(outcomes).toEqual([true, false]);
      expect(await one.links.get(LINK)).toMatchObject({ token: 'second' });
    });

    it('is not replaced if another program writes another one in between', async () => {
      const store = await open();
      await putLink(store, 'old');
      beforeToken(async () => (await nodeOf(LINK)).set(LINK, 'of another program', 'PX', HOUR));
      expect(await putLink(store, 'new', ada, 'old')).toBe(false);
      expect(await store.links.get(LINK)).toMatchObject({ token: 'of another program' });
    });

    it('is not removed if the daemon dies in between, and removed by the repeat', async () => {
      const store = await open();
      await putLink(store, 'token');
      beforeToken(killed);
      await expect(dropLink(store.links, LINK)).rejects.toThrow(StoreUnavailable);
      expect(await store.links.get(LINK)).toMatchObject({ token: 'token' });
      expect(await dropLink(store.links, LINK)).toBe(true);
      expect(await store.links.get(LINK)).toBeNull();
    });
  });

  it('runs a script only once, even if the client loses its connection while the script runs', async () => {
    const client = createClient(parseRedisUrl(cluster.url)) as Cluster;
    client.on('error', () => undefined);
    await client.connect();
    const node = await cluster.masterOf('{k}');
    const busy = `local n = redis.call('INCR', KEYS[1]) for i = 1, 2e7 do n = n + 0 end return n`;
    let value: string | null = null;
    // A busy machine may close the connection before the server has received the script. Then the test tries again.
    while (value === null) {
      const ran = client.eval(busy, 1, '{k}').catch(() => 'rejected');
      // The node answers no other command while the script runs.
      await until(async () => (await Promise.race([nodes[node]?.ping(), delay(5)])) === undefined);
      for (const one of client.nodes('master')) one.stream?.destroy();
      expect(await ran).toBe('rejected');
      await vi.waitFor(() => client.ping(), { timeout: 60_000 });
      await delay(300);
      value = (await nodes[node]?.get('{k}')) ?? null;
    }
    expect(value).toBe('1');
    client.disconnect();
  });

  it('asks for the slots no more if its store is closed while it asks for them', async () => {
    const ask = Cluster.prototype.refreshSlotsCache;
    const asked = vi.spyOn(Cluster.prototype, 'refreshSlotsCache');
    onTestFinished(() => asked.mockRestore());
    const connection = new RedisConnection(parseRedisUrl(cluster.url));
    await connection.connect();
    const asking = Promise.withResolvers<void>();
    asked.mockImplementationOnce(function (this: Cluster, done) {
      ask.call(this, done);
      connection.close();
      asking.resolve();
    });
    await asking.promise;
    const calls = asked.mock.calls.length;
    // It asks each second.
    await delay(2500);
    expect(asked.mock.calls).toHaveLength(calls);
  });

  it('refuses operations while the slot is being moved to another node, and misses no key afterwards', async () => {
    const store = await open();
    const key = JSON.stringify(['web', ['client', '192.0.2.7', 'once']]);
    const claimed = await store.idempotency.claim(key, 'body');
    if (claimed.outcome !== 'new') throw new Error('the key was already claimed');
    await store.idempotency.finish(claimed.claim, { session_id: 's', response: 'first' }, HOUR);
    const claim = await claimSession(store, 's');
    const commit = () => store.commitTurn(claim, { trace: aTrace(null) });
    const repeat = () => store.idempotency.claim(key, 'body');
    const move = await cluster.moveSlot(LAYOUT_KEY);
    const refusesAll = async () => {
      const all = [commit(), repeat(), store.sessions.find('s'), store.sessions.list({ limit: 1 })];
      for (const one of await Promise.allSettled<unknown>(all))
        expect(one).toEqual({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    };
    await refusesAll();
    await move.keys((name) => name.includes(':key:'));
    await refusesAll();
    await move.finish();
    expect(await repeat()).toMatchObject({ outcome: 'done', answer: { response: 'first' } });
    expect(await commit()).toBe('committed');
  });

  it('lists all keys, or refuses to list them if slots are moved in the meantime', async () => {
    const connection = new RedisConnection(parseRedisUrl(cluster.url));
    onTestFinished(() => connection.close());
    await connection.connect();
    const listed = scan(connection, '*');
    await putLink(await open(), 'token');
    const moves = [await cluster.moveSlot(LINK), await cluster.moveSlot(LAYOUT_KEY)] as const;
    await expect(scan(connection, '*').next()).rejects.toThrow(StoreUnavailable);
    await moves[0].cancel();
    await moves[1].cancel();
    expect((await listed.next()).done).toBe(false);
    // After three moves, the slot is on its first node again.
    const first = await cluster.masterOf(LINK);
    for (let n = 0; n < 3; n++) await (await cluster.moveSlot(LINK)).finish();
    expect(await cluster.masterOf(LINK)).toBe(first);
    await expect(listed.next()).rejects.toThrow(StoreUnavailable);
  });

  it('reports an outage if the node to which the slot is being moved fails', async () => {
    const pair = await startCluster(2);
    onTestFinished(() => pair.stop());
    const store = await openRedisStore({ url: pair.url, traceRetentionMs: HOUR });
    stores.push(store);
    await store.sessions.find('s');
    const from = await pair.masterOf(LAYOUT_KEY);
    await pair.moveSlot(LAYOUT_KEY);
    await pair.kill(1 - from);
    await expect(store.sessions.find('s')).rejects.toThrow(StoreUnavailable);
  });

  it.each(['agentd:{agentd}:inbox:clock', 'agentd:{s07}:session:s:state', 'agentd:{all}:layout:number'])(
    'does not open if it finds a key of an earlier layout: %s',
    async (key) => {
      await (await nodeOf(key)).set(key, randomUUID());
      await expect(open()).rejects.toThrow(StoreOfAnotherLayout);
    },
  );
});
