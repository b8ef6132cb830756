import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest';
import { StoreUnavailable } from '../../src/daemon/errors.ts';
import { parseRedisUrl } from '../../src/daemon/settings/addresses.ts';
import { Changes } from '../../src/daemon/store/kernels/redis/changes.ts';
import { RedisConnection } from '../../src/daemon/store/kernels/redis/connection.ts';
import { createDurability } from '../../src/daemon/store/kernels/redis/durability.ts';
import { RedisKernel } from '../../src/daemon/store/kernels/redis/kernel.ts';
import { adviceOn, type ServerFacts } from '../../src/daemon/store/kernels/redis/server.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { FakeSentinel } from '../support/fake-sentinel.ts';
import { freePorts, listenOnFreePort } from '../support/free-ports.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { anInboxMessage, aSession, aTrace } from './fixtures.ts';
import { saveSession } from './store-writes.ts';

const traceRetentionMs = 7 * 24 * 3600 * 1000;

describe.skipIf(!hasRedis)('a server that fails', () => {
  let server: RedisServer;
  let store: Store;
  beforeEach(async () => {
    server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    store = await openRedisStore({ url: server.url, traceRetentionMs });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  /** Waits until the store has recovered by itself. */
  const recovered = () => vi.waitFor(() => store.check(), { timeout: 60_000, interval: 50 });

  it('is reported, makes commands fail at once, and loses no acknowledged write', async () => {
    const session = aSession(Date.now());
    await saveSession(store, session);
    await server.kill();
    await vi.waitFor(() => expect(store.condition().writable).toBe(false), { timeout: 60_000 });
    const began = performance.now();
    for (let n = 0; n < 20; n++) await expect(store.sessions.find('s')).rejects.toThrow(StoreUnavailable);
    await vi.waitFor(() => expect(store.condition().detail).toContain('ECONNREFUSED'), { timeout: 60_000 });
    // The client only knows that it has no connection, not why.
    await expect(store.sessions.find('s')).rejects.toThrow(StoreUnavailable);
    expect(store.condition().detail).toMatch(/^Redis cannot be used: .*ECONNREFUSED/);
    // If the commands waited, each of them would take 5 seconds.
    expect(performance.now() - began).toBeLessThan(50_000);
    await server.startAgain();
    await recovered();
    expect(store.condition()).toEqual({ writable: true, detail: null });
    expect(await store.sessions.find(session.session_id)).toEqual(session);
  });

  it('makes a command fail if the answer is late, and carries out the command only once', async () => {
    const hit = () => store.limits.hit('k', { max: 10, window_ms: 600_000 });
    expect(await hit()).toMatchObject({ remaining: 9 });
    process.kill(server.pid, 'SIGSTOP');
    try {
      const began = performance.now();
      await expect(hit()).rejects.toThrow(StoreUnavailable);
      expect(performance.now() - began).toBeLessThan(7000);
      expect(store.condition().writable).toBe(false);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await recovered();
    // The command was carried out late, and only once.
    expect(await hit()).toMatchObject({ remaining: 7 });
  });

  it('cannot be written while it refuses writes, whatever is read meanwhile', async () => {
    await server.client.config('SET', 'maxmemory', '1mb');
    await expect(saveSession(store, aSession(Date.now()))).rejects.toThrow(StoreUnavailable);
    expect(await store.sessions.find('s')).toBeNull();
    expect(store.condition()).toEqual({
      writable: false,
      detail: expect.stringMatching(/^Redis cannot be used: OOM .*[^.]\.$/),
    });
    await expect(store.check()).rejects.toThrow(StoreUnavailable);
    await server.client.config('SET', 'maxmemory', '0');
    await store.check();
    expect(store.condition()).toEqual({ writable: true, detail: null });
  });

  it('gets its scripts again after it has lost them', async () => {
    await store.sessions.claim('a');
    await server.client.script('FLUSH');
    expect(await store.sessions.claim('a')).toBeNull();
    expect(await store.sessions.claim('b')).not.toBeNull();
  });

  it('records its layout again after the server has lost all keys, so that the next daemon starts', async () => {
    await server.flush();
    await saveSession(store, aSession(Date.now(), { session_id: 'after' }));
    const next = await openRedisStore({ url: server.url, traceRetentionMs });
    await next.check();
    await next.close();
  });

  it('refuses every write under claims that it has lost', async () => {
    const claim = await store.sessions.claim('s');
    if (!claim) throw new Error('the session was already claimed');
    await server.flush();
    expect(await store.sessions.renew(claim)).toBe(false);
    expect(await store.commitTurn(claim, { trace: aTrace(null) })).toBe('lost');
    expect(await store.sessions.save(claim, aSession(1, { session_id: 's' }), 'new')).toBe('lost');
  });
});

describe.skipIf(!hasRedis)('a failover that Sentinel announces', () => {
  it('is followed even if the store is asking Sentinel for the master at that moment', async () => {
    const [port] = (await freePorts(1)) as [number];
    const server = await startRedis(['--port', String(port)]);
    const sentinel = await FakeSentinel.start(port);
    const store = await openRedisStore({ url: sentinel.url, traceRetentionMs });
    try {
      await expect.poll(() => sentinel.subscribers).toBe(1);
      const { asked } = sentinel;
      sentinel.announceWhenAsked();
      await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await vi.waitFor(() => store.check(), { timeout: 20_000, interval: 50 });
      expect(sentinel.asked).toBeGreaterThan(asked + 1);
    } finally {
      await store.close();
      await sentinel.stop();
      await server.stop();
    }
  });
});

describe.skipIf(!hasRedis).concurrent('a failover behind one address', () => {
  /** Two servers, and an address that leads to one of them, as that of a managed Redis does. */
  async function behindOneAddress({ onTestFinished: atEnd }: TestContext) {
    const ports = await freePorts(2);
    const servers = await Promise.all(ports.map((port) => startRedis(['--port', String(port)])));
    const address = await Address.open(ports[0] as number);
    const url = `redis://127.0.0.1:${address.port}`;
    const store = await openRedisStore({ url, traceRetentionMs });
    atEnd(async () => {
      await store.close();
      await address.close();
      for (const server of servers) await server.stop();
    });
    const [former, next] = servers as [RedisServer, RedisServer];
    const follows = () => vi.waitFor(() => store.check(), { timeout: 20_000, interval: 100 });
    return { former, next, nextPort: ports[1] as number, address, store, follows };
  }

  it('is followed if the former master is a replica now', async (test) => {
    const { former, next, nextPort, address, store, follows } = await behindOneAddress(test);
    address.leadsTo = nextPort;
    await former.client.replicaof('127.0.0.1', nextPort);
    await follows();
    await saveSession(store, aSession(Date.now()));
    expect(await next.client.dbsize()).toBeGreaterThan(1);
  });

  it('is followed if the former master answers no more, and its connections are not closed', async (test) => {
    const { next, nextPort, address, store, follows } = await behindOneAddress(test);
    address.leadsTo = nextPort;
    address.silence();
    await follows();
    await saveSession(store, aSession(Date.now()));
    expect(await next.client.dbsize()).toBeGreaterThan(1);
  });
});

/** An address that leads to a server on another port, which may change for new connections. */
class Address {
  leadsTo: number;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(leadsTo: number) {
    this.leadsTo = leadsTo;
    this.#server = createServer((client) => {
      const server = connect(this.leadsTo, '127.0.0.1');
      for (const socket of [client, server]) {
        this.#open.add(socket);
        socket.on('close', () => [client, server].forEach((one) => void one.destroy()));
        socket.on('error', () => undefined);
      }
      client.pipe(server).pipe(client);
    });
  }

  static async open(leadsTo: number): Promise<Address> {
    const address = new Address(leadsTo);
    await listenOnFreePort(address.#server);
    return address;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on, the open connections deliver nothing. */
  silence(): void {
    for (const socket of this.#open) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

describe.skipIf(!hasRedis)('on a real clock', () => {
  it('every key expires or is bounded', async () => {
    const server = await startRedis();
    const store = await openRedisStore({ url: server.url, traceRetentionMs });
    try {
      const session = aSession(Date.now(), { session_id: randomUUID() });
      await saveSession(store, session);
      await store.limits.hit('k', { max: 3, window_ms: 1000 });
      await store.links.put({
        key: 'chat:jwt:u1',
        token: 'a.b.c',
        person: '["","","ada"]' as never,
        ttl_ms: 60_000,
      });
      await store.inbox.enqueue([anInboxMessage({ message_id: 'm' })]);
      await store.traces.keep(aTrace(null));
      const keys = await server.client.keys('*');
      const forever: string[] = [];
      for (const key of keys) if ((await server.client.pttl(key)) === -1) forever.push(key);
      // The keys of the inbox do not expire, but the number of its messages is limited.
      expect(
        forever.filter((key) => !/^agentd:\{store\}:(?:layout|serial|inbox_(?:message|queue)[:/])/.test(key)),
      ).toEqual([]);
      expect(await server.client.get('chat:jwt:u1')).toBe('a.b.c');
      expect(await server.client.pttl('chat:jwt:u1')).toBeGreaterThan(59_000);
      // Another program writes a link.
      await server.client.set('chat:jwt:u2', 'd.e.f', 'EX', 100);
      expect(await store.links.get('chat:jwt:u2')).toMatchObject({ token: 'd.e.f', alias: null });
      expect((await store.links.list({ limit: 10 })).map(({ token }) => token)).toEqual(['a.b.c', 'd.e.f']);
      // A value that is not a string is not a link, and a link can replace it.
      await server.client.lpush('chat:jwt:u3', 'x');
      expect(await store.links.get('chat:jwt:u3')).toBeNull();
      const link = { key: 'chat:jwt:u3', token: 'g.h.i', person: '["","","ada"]' as never, ttl_ms: 60_000 };
      expect(await store.links.put(link)).toBe(true);
      expect(await server.client.get('chat:jwt:u3')).toBe('g.h.i');
    } finally {
      await store.close();
      await server.stop();
    }
  });
});

it('a store does not open if there is no server, no Sentinel and no Cluster', async () => {
  const [port] = await freePorts(1);
  const failureOf = (url: string) => {
    const opening = openRedisStore({ url, traceRetentionMs });
    return opening.catch(({ name, cause }) => `${name}: ${cause.message}`);
  };
  expect(await failureOf('unix:/nonexistent/redis.sock')).toMatch(/^StoreUnavailable: connect ENOENT/);
  expect(await failureOf(`redis://127.0.0.1:${port}`)).toMatch(/^StoreUnavailable: connect ECONNREFUSED/);
  expect(await failureOf(`redis+sentinel://127.0.0.1:${port}/main`)).toMatch(
    /^StoreUnavailable: All sentinels are unreachable/,
  );
  expect(await failureOf(`redis+cluster://127.0.0.1:${port}`)).toMatch(
    /^StoreUnavailable: None of startup nodes/,
  );
});

describe('durability', () => {
  const facts: ServerFacts = {
    version: [7, 4],
    isValkey: false,
    evictionPolicy: 'noeviction',
    hasLog: true,
    fsync: 'everysec',
    hasSnapshots: false,
    replicas: 0,
  };
  /** A fake server, for commands that the real server of the tests may not support. */
  const serverWith = (answer: unknown) => {
    const calls: unknown[][] = [];
    const call = async (...args: unknown[]) => {
      calls.push(args);
      return answer;
    };
    return { client: { call } as never, calls };
  };

  it('waits for the disk, and for a replica if there is one', async () => {
    const { client, calls } = serverWith([1, 1]);
    await createDurability(client, facts)?.written();
    await createDurability(client, { ...facts, replicas: 2 })?.written();
    expect(calls).toEqual([
      ['WAITAOF', 1, 0, 2000],
      ['WAITAOF', 1, 1, 2000],
    ]);
  });

  it('waits only for a replica if the server cannot report on its disk', async () => {
    const { client, calls } = serverWith(1);
    await createDurability(client, { ...facts, version: [7, 0], replicas: 1 })?.written();
    expect(calls).toEqual([['WAIT', 1, 2000]]);
    expect(createDurability(client, { ...facts, version: [7, 0] })).toBeNull();
  });

  it('rejects a write that was not confirmed in time', async () => {
    const { client } = serverWith([0, 0]);
    await expect(createDurability(client, facts)?.written()).rejects.toThrow(/not durable within 2000 ms/);
  });

  it('rejects a write if its connection has been closed since', async () => {
    const { client } = serverWith([1, 0]);
    const changing = Object.assign(client as { stream: object }, { stream: {} });
    const durability = createDurability(client, facts);
    await durability?.written();
    const second = durability?.written();
    changing.stream = {};
    await expect(second).rejects.toThrow('a connection was closed before its writes were durable');
  });

  it.skipIf(!hasRedis)('reports every error as an outage, because the script has run', async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const connection = new RedisConnection(parseRedisUrl(server.url));
    onTestFinished(() => connection.close());
    await connection.connect();
    connection.awaitDurability(facts, true);
    const refused = new Error('ERR WAITAOF cannot be used with replica instances.');
    vi.spyOn(connection.client, 'call').mockRejectedValue(refused);
    const kernel = new RedisKernel({ connection, changes: new Changes(connection) });
    const step = kernel.step((tx) => tx.put({ name: 'x', expires: () => null }, 'k', 1));
    await expect(step).rejects.toMatchObject({ name: 'StoreUnavailable', cause: refused });
    expect(connection.failure).toBe(refused.message);
  });

  it('lets simultaneous writes wait together', async () => {
    const { client, calls } = serverWith([1, 0]);
    const durability = createDurability(client, facts);
    await Promise.all(Array.from({ length: 50 }, () => durability?.written()));
    expect(calls.length).toBeLessThanOrEqual(2);
  });

  it('warns about a server that can lose data', () => {
    expect(adviceOn(facts, false)).toEqual([]);
    expect(adviceOn({ ...facts, evictionPolicy: 'allkeys-lru' }, false)).toEqual([
      expect.stringMatching(/evicts keys .*set maxmemory-policy noeviction/),
    ]);
    expect(adviceOn({ ...facts, hasLog: false }, false)).toEqual([
      expect.stringMatching(/does not persist anything/),
      expect.stringMatching(
        /^A crash or restart .* may make a tool repeat any earlier write,.*; set appendonly yes$/,
      ),
    ]);
    expect(adviceOn({ ...facts, hasLog: false, hasSnapshots: true }, false)).toEqual([
      expect.stringMatching(/no append-only file/),
      expect.stringMatching(/^A crash .* repeat any write since the last snapshot,.*; set appendonly yes$/),
    ]);
    expect(adviceOn({ ...facts, hasLog: false, version: [7, 0], hasSnapshots: null }, false)).toEqual([
      expect.stringMatching(/no append-only file/),
      expect.stringMatching(/since the last snapshot,.*; set appendonly yes and appendfsync always$/),
    ]);
    // Without an append-only file, `appendfsync` has no effect.
    expect(adviceOn({ ...facts, hasLog: false, fsync: 'always' }, true)).toEqual([
      expect.stringMatching(/does not persist anything/),
      expect.stringMatching(/repeat any earlier write/),
      expect.stringMatching(/^REDIS_DURABILITY=always has no effect: .* loses acknowledged messages$/),
    ]);
    expect(adviceOn({ ...facts, version: [7, 0] }, true)).toEqual([
      expect.stringMatching(/may make a tool repeat a write/),
      expect.stringMatching(/REDIS_DURABILITY=always has no effect/),
    ]);
    expect(adviceOn({ ...facts, version: [7, 0], fsync: 'always' }, true)).toEqual([]);
    expect(adviceOn(facts, true)).toEqual([]);
  });
});
