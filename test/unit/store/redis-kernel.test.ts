import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { parseRedisUrl } from '../../../src/daemon/settings/addresses.ts';
import type { Kind, Ring, Tx } from '../../../src/daemon/store/kernels/kernel.ts';
import { Changes } from '../../../src/daemon/store/kernels/redis/changes.ts';
import { RedisConnection } from '../../../src/daemon/store/kernels/redis/connection.ts';
import { RedisKernel } from '../../../src/daemon/store/kernels/redis/kernel.ts';
import { seededRandom } from '../../support/random.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2030, 0, 1);

interface Counter {
  n: number;
  group?: string | null;
  expires_at?: number | null;
  text?: string;
}

const COUNTER: Kind<Counter, number> = {
  name: 'counter',
  hasList: true,
  expires: ({ expires_at = null }) => expires_at,
  indexes: ({ group = null, n }) => (group === null ? [] : [[group, n]]),
};
const RING: Ring<{ id: string }> = { name: 'ring', max: 5, retention_ms: HOUR, ids: ({ id }) => [id] };

/** Adds one to a counter, and appends the new value to its list. */
const increment = (key: string) => (tx: Tx) => {
  const n = (tx.get(COUNTER, key)?.n ?? 0) + 1;
  tx.put(COUNTER, key, { n });
  tx.append(COUNTER, key, [n]);
  return n;
};

describe.skipIf(!hasRedis)('the kernel on Redis', () => {
  let server: RedisServer;
  let time = START;
  let kernels: RedisKernel[] = [];
  const open = async () => {
    const connection = new RedisConnection(parseRedisUrl(server.url), () => time);
    await connection.connect();
    const kernel = new RedisKernel({ connection, changes: new Changes(connection) });
    kernels.push(kernel);
    return kernel;
  };
  const some = (count: number) => Promise.all(Array.from({ length: count }, open));

  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(() => server.flush());
  afterEach(async () => {
    await Promise.all(kernels.map((kernel) => kernel.close()));
    kernels = [];
    time = START;
  });
  afterAll(() => server.stop());

  describe('steps at the same time', () => {
    it('on one document of one process need a few trips, and none starves', async () => {
      const [kernel] = (await some(1)) as [RedisKernel];
      let runs = 0;
      const all = Array.from({ length: 200 }, () =>
        kernel.step((tx) => {
          runs++;
          return increment('hot')(tx);
        }),
      );
      const found = await Promise.all(all);
      expect(found).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
      expect(await kernel.step((tx) => tx.items(COUNTER, 'hot'))).toEqual(found);
      // One run finds out what the step reads, one runs with it, and one sees the steps before it.
      expect(runs).toBeLessThanOrEqual(3 * 200);
    });

    it('on one document of several processes all succeed, each once', async () => {
      const found = await Promise.all(
        (await some(4)).flatMap((kernel) => Array.from({ length: 25 }, () => kernel.step(increment('hot')))),
      );
      expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    });

    it('read a document again together with its list, if another process has changed both', async () => {
      const [one, other] = (await some(2)) as [RedisKernel, RedisKernel];
      await one.step(increment('listed'));
      await other.step(increment('listed'));
      // The first process knows the document, but not the list.
      const seen = await one.step((tx) => {
        tx.put(COUNTER, 'beside', { n: 1 });
        return tx.items(COUNTER, 'listed');
      });
      expect(seen).toEqual([1, 2]);
    });

    it('give the same as one after the other: money that is moved at random between few accounts stays the same', async () => {
      const random = seededRandom(5);
      const keys = ['a', 'b', 'c', 'd'];
      const all = await some(3);
      const [one] = all as [RedisKernel];
      await one.step((tx) => {
        for (const key of keys) tx.put(COUNTER, key, { n: 100, group: 'rich' });
      });
      const move = () => {
        const [from, to, sum] = [random.pick(keys), random.pick(keys), random.below(60)];
        return (tx: Tx) => {
          const [source, target] = [tx.get(COUNTER, from), tx.get(COUNTER, to)];
          if (source === null || target === null) throw new Error('an account is missing');
          const total = keys.reduce((n, key) => n + (tx.get(COUNTER, key)?.n ?? 0), 0);
          if (total !== 400) throw new Error(`a step saw a total of ${total}`);
          if (from === to || source.n < sum) return 0;
          const put = (key: string, n: number) =>
            tx.put(COUNTER, key, { n, group: n > 50 ? 'rich' : 'poor' });
          put(from, source.n - sum);
          put(to, target.n + sum);
          tx.append(COUNTER, to, [sum]);
          return sum;
        };
      };
      const moved = await Promise.all(
        Array.from({ length: 240 }, (_, n) => (all[n % 3] as RedisKernel).step(move())),
      );
      const after = await one.step((tx) => ({
        ns: keys.map((key) => tx.get(COUNTER, key)?.n ?? 0),
        lists: keys.flatMap((key) => tx.items(COUNTER, key)),
        indexed: tx.count(COUNTER, 'rich') + tx.count(COUNTER, 'poor'),
        rich: tx.first(COUNTER, 'rich', 9).map(({ doc }) => doc.n > 50),
      }));
      expect(after.ns.reduce((sum, n) => sum + n, 0)).toBe(400);
      expect(after.ns.every((n) => n >= 0)).toBe(true);
      expect(after.indexed).toBe(4);
      expect(after.rich.every((is) => is)).toBe(true);
      const sum = (list: readonly number[]) => list.reduce((all, n) => all + n, 0);
      expect(sum(after.lists)).toBe(sum(moved));
    });

    it('claim each document of an index once', async () => {
      const all = await some(3);
      const [one] = all as [RedisKernel];
      await one.step((tx) => {
        for (let n = 0; n < 30; n++) tx.put(COUNTER, `free ${n}`, { n, group: 'free' });
      });
      const claim = (tx: Tx) => {
        const [found] = tx.first(COUNTER, 'free', 1);
        if (found === undefined) return null;
        tx.put(COUNTER, found.key, { ...found.doc, group: null, text: tx.newOwner() });
        return found.key;
      };
      const claimed = await Promise.all(
        Array.from({ length: 45 }, (_, n) => (all[n % 3] as RedisKernel).step(claim)),
      );
      const keys = claimed.filter((key) => key !== null);
      expect(new Set(keys).size).toBe(30);
      expect(keys).toHaveLength(30);
    });

    it('never see documents of different moments, even if they need several trips', async () => {
      const [reader, writer] = (await some(2)) as [RedisKernel, RedisKernel];
      await writer.step((tx) => {
        tx.put(COUNTER, 'pointer', { n: 0 });
        tx.put(COUNTER, 'target 0', { n: 0 });
      });
      let isOver = false;
      const writing = (async () => {
        for (let n = 1; n <= 60; n++)
          await writer.step((tx) => {
            tx.delete(COUNTER, `target ${tx.get(COUNTER, 'pointer')?.n}`);
            tx.put(COUNTER, 'pointer', { n });
            tx.put(COUNTER, `target ${n}`, { n });
          });
        isOver = true;
      })();
      while (!isOver)
        await reader.step((tx) => {
          const n = tx.get(COUNTER, 'pointer')?.n;
          if (tx.get(COUNTER, `target ${n}`)?.n !== n) throw new Error('the target does not exist');
        });
      await writing;
    });

    it('that change a thousand documents do not wait for each other in a circle', async () => {
      const all = await some(3);
      const wide = (offset: number) => (tx: Tx) => {
        for (let n = 0; n < 1000; n++) tx.put(COUNTER, `wide ${(n * 7 + offset) % 1000}`, { n });
      };
      await Promise.all(
        all.flatMap((kernel, n) => [kernel.step(wide(n * 300)), kernel.step(increment(`wide ${n}`))]),
      );
      expect(
        await all[0]?.step((tx) => [0, 1, 2].every((n) => tx.items(COUNTER, `wide ${n}`).length === 1)),
      ).toBe(true);
    });
  });

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
      tx.put(COUNTER, 'brief', { n: 1, group: 'g', expires_at: tx.now + 30 });
      tx.append(COUNTER, 'brief', [1]);
      tx.put(COUNTER, 'again', { n: 1, group: 'g', expires_at: tx.now + 30 });
    });
    expect(await server.client.keys('*')).toHaveLength(5);
    await expect.poll(() => server.client.keys('*')).toEqual([]);
    // Its place in the index was not taken out before it was stored again.
    await kernel.step((tx) => tx.put(COUNTER, 'again', { n: 2, group: 'g' }));
    expect(await kernel.step((tx) => tx.first(COUNTER, 'g', 9).map(({ key }) => key))).toEqual(['again']);
    expect(await kernel.step((tx) => tx.count(COUNTER, 'g'))).toBe(1);
  });

  it('stores the other steps of a trip if one of them is defective', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    const fine = (n: number) => kernel.step((tx) => tx.put(COUNTER, `fine ${n}`, { n }));
    const defective = kernel.step((tx) => tx.put(COUNTER, 'bad', { n: 1, expires_at: 0.5 }));
    const outcomes = await Promise.allSettled([fine(1), defective, fine(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await kernel.step((tx) => [tx.get(COUNTER, 'bad'), tx.get(COUNTER, 'fine 2')?.n])).toEqual([
      null,
      2,
    ]);
    await expect(kernel.step((tx) => tx.append(COUNTER, 'nothing', [1]))).rejects.toThrow('does not exist');
    const thrown = kernel.step((tx) => {
      tx.put(COUNTER, 'thrown', { n: 1 });
      throw new Error('no');
    });
    await expect(thrown).rejects.toThrow('no');
    expect(await kernel.step((tx) => tx.get(COUNTER, 'thrown'))).toBeNull();
  });

  describe('notifications', () => {
    const tell = (kernel: RedisKernel, what: string) => kernel.step((tx) => tx.tell('room', what));
    /** What was heard. Resolves as soon as a telling arrives: the first ones may be lost before LISTEN. */
    const hearing = async (teller: RedisKernel, heard: unknown[], what: string) => {
      while (!heard.includes(what)) {
        await tell(teller, what);
        await delay(20);
      }
    };

    it('arrive at other processes, also after the connection that listens was lost', async () => {
      const [one, two] = (await some(2)) as [RedisKernel, RedisKernel];
      const heard: unknown[] = [];
      two.watch('room', (what) => heard.push(what));
      await hearing(one, heard, 'first');
      await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await hearing(one, heard, 'second');
    });
  });

  it.each([
    ['NUL', 'a\0b'],
    ['a lone surrogate', 'a\ud800b'],
    ['512 characters', 'ü'.repeat(512)],
    ['512 lone surrogates', '\udfff'.repeat(512)],
    [
      '512 different characters',
      Array.from({ length: 512 }, (_, n) => String.fromCharCode(0x4e00 + n * 37)).join(''),
    ],
    ['the first character of a hash', '\u0001abc'],
    ['quotes', `'"\\`],
    ['nothing', ''],
  ])('stores and finds a key with %s', async (_, key) => {
    const [kernel] = (await some(1)) as [RedisKernel];
    await kernel.step((tx) => {
      tx.put(COUNTER, key, { n: 1, group: key, text: key });
      tx.append(COUNTER, key, [7]);
      tx.log(RING, { id: key });
    });
    const doc = { n: 1, group: key, text: key };
    expect(
      await kernel.step((tx) => [
        tx.get(COUNTER, key),
        tx.first(COUNTER, key, 9),
        tx.count(COUNTER, key),
        tx.items(COUNTER, key),
      ]),
    ).toEqual([doc, [{ key, doc }], 1, [7]]);
    expect(await kernel.found(RING, { id: key, limit: 9 })).toEqual([{ id: key }]);
    const scanned = [];
    for await (const entry of kernel.scan(COUNTER)) scanned.push(entry);
    expect(scanned).toEqual([{ key, doc }]);
    await kernel.step((tx) => tx.delete(COUNTER, key));
    expect(
      await kernel.step((tx) => [tx.get(COUNTER, key), tx.count(COUNTER, key), tx.items(COUNTER, key)]),
    ).toEqual([null, 0, []]);
  });

  it('ends a document with its list and its places when it expires', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    const shown = () =>
      kernel.step((tx) => [
        tx.get(COUNTER, 'x'),
        tx.items(COUNTER, 'x'),
        tx.count(COUNTER, 'g'),
        tx.first(COUNTER, 'g', 9),
      ]);
    const make = () =>
      kernel.step((tx) => {
        tx.put(COUNTER, 'x', { n: 1, group: 'g', expires_at: time + 10 });
        tx.append(COUNTER, 'x', [1, 2]);
      });
    await make();
    time += 10;
    expect(await shown()).toEqual([null, [], 0, []]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x'))).toEqual([1, 2]);
    time += 10;
    expect(await shown()).toEqual([null, [], 0, []]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', 1))).toEqual([2]);
  });

  it('sees its own changes in lists and indexes', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    await kernel.step((tx) => {
      for (let n = 0; n < 5; n++) tx.put(COUNTER, `k${n}`, { n, group: 'g' });
      tx.append(COUNTER, 'k0', [0, 1, 2]);
    });
    const seen = await kernel.step((tx) => {
      tx.put(COUNTER, 'k0', { n: 9, group: 'g' });
      tx.delete(COUNTER, 'k1');
      tx.put(COUNTER, 'k2', { n: 2 });
      tx.put(COUNTER, 'new', { n: 3.5, group: 'g' });
      tx.append(COUNTER, 'k0', [3]);
      return [
        tx.first(COUNTER, 'g', 3).map(({ key }) => key),
        tx.count(COUNTER, 'g'),
        tx.items(COUNTER, 'k0', 2),
        tx.items(COUNTER, 'k0', 4),
      ];
    });
    expect(seen).toEqual([['k3', 'new', 'k4'], 4, [2, 3], []]);
    expect(await kernel.step((tx) => tx.items(COUNTER, 'k0', 1))).toEqual([1, 2, 3]);
  });

  it('keeps the newest records of a ring', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    for (let n = 0; n < 8; n++) await kernel.step((tx) => tx.log(RING, { id: `r${n}` }));
    const ids = async () => (await kernel.found(RING, { limit: 9 })).map(({ id }) => id);
    expect(await ids()).toEqual(['r3', 'r4', 'r5', 'r6', 'r7']);
    time += HOUR;
    expect(await ids()).toEqual([]);
  });

  it('stores very large documents and lists', async () => {
    const [kernel] = (await some(1)) as [RedisKernel];
    const text = 'ab\n"\u0000 '.repeat(1_000_000);
    const items = Array.from({ length: 20_000 }, (_, n) => n);
    await kernel.step((tx) => {
      tx.put(COUNTER, 'large', { n: 1, text });
      tx.append(COUNTER, 'large', items);
    });
    const found = await kernel.step((tx) => [
      tx.get(COUNTER, 'large')?.text === text,
      tx.items(COUNTER, 'large'),
    ]);
    expect(found).toEqual([true, items]);
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        kernel.step((tx) => tx.put(COUNTER, `l${n}`, { n, text: text.slice(0, 1_000_000) })),
      ),
    );
    expect(await kernel.step((tx) => tx.get(COUNTER, 'l11')?.n)).toBe(11);
  });
});
