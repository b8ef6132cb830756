import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { parseRedisUrl } from '../../../src/daemon/settings/addresses.ts';
import type { Kind, Tx } from '../../../src/daemon/store/kernels/kernel.ts';
import { Changes } from '../../../src/daemon/store/kernels/redis/changes.ts';
import { RedisConnection } from '../../../src/daemon/store/kernels/redis/connection.ts';
import { RedisKernel } from '../../../src/daemon/store/kernels/redis/kernel.ts';
import { LAYOUT_KEY } from '../../../src/daemon/store/kernels/redis/keys.ts';
import {
  COUNTER,
  type Counter,
  increment,
  type KernelServer,
  sharedKernelContract,
} from '../../contract/shared-kernel-contract.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

const START = Date.UTC(2030, 0, 1);

describe.skipIf(!hasRedis)('the kernel on Redis', () => {
  let server: RedisServer;
  let kernels: RedisKernel[] = [];
  const open = async () => {
    const connection = new RedisConnection(parseRedisUrl(server.url), () => shared.time);
    await connection.connect();
    const kernel = new RedisKernel({ connection, changes: new Changes(connection) });
    kernels.push(kernel);
    return kernel;
  };
  const some = (count: number) => Promise.all(Array.from({ length: count }, open));
  const shared: KernelServer = {
    time: START,
    kernels: some,
    loseListeners: () => server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  };

  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(() => server.flush());
  afterEach(async () => {
    await Promise.all(kernels.map((kernel) => kernel.close()));
    kernels = [];
    shared.time = START;
  });
  afterAll(() => server.stop());

  sharedKernelContract(shared);

  describe('the cache of a process', () => {
    const value = (kernel: RedisKernel, key: string) => kernel.step((tx) => tx.get(COUNTER, key)?.n ?? null);

    it('decides no answer and no exception', async () => {
      const [one, two] = (await some(2)) as [RedisKernel, RedisKernel];
      await one.step(increment('x'));
      await two.step((tx) => tx.put(COUNTER, 'x', { n: 7 }));
      const refused = one.step((tx) => {
        const n = tx.get(COUNTER, 'x')?.n;
        if (n === 1) throw new Error('outdated');
        return n;
      });
      expect(await refused).toBe(7);
      await two.step((tx) => tx.delete(COUNTER, 'x'));
      expect(await value(one, 'x')).toBeNull();
    });

    it('decides no change', async () => {
      const [one, two] = (await some(2)) as [RedisKernel, RedisKernel];
      await one.step(increment('x'));
      await two.step((tx) => tx.put(COUNTER, 'x', { n: 7 }));
      expect(await one.step(increment('x'))).toBe(8);
      await two.step((tx) => tx.delete(COUNTER, 'x'));
      expect(await one.step(increment('x'))).toBe(1);
      expect(await two.step((tx) => tx.items(COUNTER, 'x'))).toEqual([1]);
    });

    it('saves trips: a step on a document that the process has changed needs one', async () => {
      const [kernel] = (await some(1)) as [RedisKernel];
      await kernel.step(increment('x'));
      await server.client.config('RESETSTAT');
      for (let n = 0; n < 10; n++) await kernel.step(increment('x'));
      const stats = await server.client.info('commandstats');
      expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe('10');
    });

    it('leads to no mixture of an old index and a new document', async () => {
      const [one, two] = (await some(2)) as [RedisKernel, RedisKernel];
      // Each step moves the one free document: whoever finds it must find it free.
      const move = (tx: Tx) => {
        const [found] = tx.first(COUNTER, 'free', 1);
        if (found === undefined) return null;
        const doc = tx.get(COUNTER, found.key);
        if (doc?.group !== 'free') throw new Error('a document of the index is not in it');
        tx.put(COUNTER, found.key, { ...doc, n: doc.n + 1, group: doc.n % 3 === 0 ? 'other' : 'free' });
        if (doc.n % 3 === 0) tx.put(COUNTER, `next ${doc.n}`, { n: doc.n + 1, group: 'free' });
        return doc.n;
      };
      await one.step((tx) => tx.put(COUNTER, 'start', { n: 1, group: 'free' }));
      const moved = await Promise.all(Array.from({ length: 80 }, (_, n) => (n % 2 ? one : two).step(move)));
      expect([...moved].sort((a, b) => Number(a) - Number(b))).toEqual(
        Array.from({ length: 80 }, (_, n) => n + 1),
      );
    });
  });

  it('finds what another process has put into an index that is nearly always empty', async () => {
    const SPARSE: Kind<Counter, number> = { ...COUNTER, name: 'sparse', isSparse: true };
    const [one, two] = (await some(2)) as [RedisKernel, RedisKernel];
    const look = (tx: Tx) => {
      const found = tx.first(SPARSE, 'g', 9).map(({ key }) => key);
      tx.put(COUNTER, 'looked', { n: found.length });
      return found;
    };
    expect(await one.step(look)).toEqual([]);
    await two.step((tx) => tx.put(SPARSE, 'a', { n: 1, group: 'g' }));
    expect(await one.step(look)).toEqual(['a']);
    await two.step((tx) => tx.delete(SPARSE, 'a'));
    expect(await one.step(look)).toEqual([]);
  });

  it('reports a commit whose connection breaks as StoreUnavailable, and works again', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    await kernel.step(increment('x'));
    await server.client.call('CLIENT', 'PAUSE', 500, 'WRITE');
    const commits = [kernel.step(increment('x')), kernel.step(increment('x'))];
    const outcomes = Promise.allSettled(commits);
    await delay(50);
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    await server.client.call('CLIENT', 'UNPAUSE');
    await expect.poll(() => kernel.step(increment('y')).catch(() => null)).toBe(1);
    const n = await kernel.step(increment('x'));
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x'))).toEqual(
      Array.from({ length: n }, (_, i) => i + 1),
    );
  });

  it('uses the time of the server, and leaves nothing of what has expired', async () => {
    const connection = new RedisConnection(parseRedisUrl(server.url));
    await connection.connect();
    const kernel = new RedisKernel({ connection, changes: new Changes(connection) });
    kernels.push(kernel);
    const began = await kernel.step((tx) => tx.now);
    expect(Math.abs(began - Date.now())).toBeLessThan(5000);
    await kernel.step((tx) => {
      tx.put(COUNTER, 'brief', { n: 1, group: 'g', expires_at: tx.now + 1000 });
      tx.append(COUNTER, 'brief', [1]);
      tx.put(COUNTER, 'again', { n: 1, group: 'g', expires_at: tx.now + 1000 });
    });
    expect(await server.client.keys('*')).toHaveLength(6);
    await expect.poll(() => server.client.keys('*')).toEqual([LAYOUT_KEY]);
    // Its place in the index was not taken out before it was stored again.
    await kernel.step((tx) => tx.put(COUNTER, 'again', { n: 2, group: 'g' }));
    expect(await kernel.step((tx) => tx.first(COUNTER, 'g', 9).map(({ key }) => key))).toEqual(['again']);
    expect(await kernel.step((tx) => tx.count(COUNTER, 'g'))).toBe(1);
  });
});
