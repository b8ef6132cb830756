import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { StoreOfAnotherLayout } from '../../../src/daemon/store/failures.ts';
import type { Kind, Ring, Tx } from '../../../src/daemon/store/kernels/kernel.ts';
import { Database } from '../../../src/daemon/store/kernels/postgres/database.ts';
import { PostgresKernel } from '../../../src/daemon/store/kernels/postgres/kernel.ts';
import { Notifications } from '../../../src/daemon/store/kernels/postgres/notifications.ts';
import { openPostgresStore } from '../../../src/daemon/store/kernels/postgres/store.ts';
import { Postgres, withoutPostgres } from '../../support/postgres.ts';
import { seededRandom } from '../../support/random.ts';

const log = { debug() {} };
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

describe.skipIf(withoutPostgres)('the kernel on Postgres', () => {
  let server: Postgres;
  let url: string;
  let time = START;
  let kernels: PostgresKernel[] = [];
  const kernelAt = (at: string) => {
    const parts = {
      database: new Database(at, log, { max: 10, query_ms: 10_000 }),
      notifications: new Notifications(at, log),
    };
    const kernel = new PostgresKernel({ ...parts, now: () => time });
    kernels.push(kernel);
    return kernel;
  };
  const some = (count: number) => Array.from({ length: count }, () => kernelAt(url));

  beforeAll(async () => {
    server = await Postgres.start();
    url = await server.createSchema(await server.createDatabase());
    await (await openPostgresStore({ url, log })).close();
  });
  beforeEach(() => server.empty(url));
  afterEach(async () => {
    await Promise.all(kernels.map((kernel) => kernel.close()));
    kernels = [];
    time = START;
  });
  afterAll(() => server.stop());

  it('is not opened on the tables of a later version', async () => {
    const later = await server.createDatabase();
    await (await openPostgresStore({ url: later, log })).close();
    await server.sql('UPDATE agentd_store_schema SET version = 99', later);
    await expect(openPostgresStore({ url: later, log })).rejects.toThrow(StoreOfAnotherLayout);
  });

  describe('steps at the same time', () => {
    it('on one document of one process need a few trips, and none starves', async () => {
      const [kernel] = some(1) as [PostgresKernel];
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
        some(4).flatMap((kernel) => Array.from({ length: 25 }, () => kernel.step(increment('hot')))),
      );
      expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    });

    it('read a document again together with its list, if another process has changed both', async () => {
      const [one, other] = some(2) as [PostgresKernel, PostgresKernel];
      await one.step(increment('listed'));
      await other.step(increment('listed'));
      const seen = await one.step((tx) => {
        tx.put(COUNTER, 'beside', { n: 1 });
        return tx.items(COUNTER, 'listed');
      });
      expect(seen).toEqual([1, 2]);
    });

    it('give the same as one after the other: money that is moved at random between few accounts stays the same', async () => {
      const random = seededRandom(5);
      const keys = ['a', 'b', 'c', 'd'];
      const all = some(3);
      const [one] = all as [PostgresKernel];
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
        Array.from({ length: 240 }, (_, n) => (all[n % 3] as PostgresKernel).step(move())),
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
      const all = some(3);
      const [one] = all as [PostgresKernel];
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
        Array.from({ length: 45 }, (_, n) => (all[n % 3] as PostgresKernel).step(claim)),
      );
      const keys = claimed.filter((key) => key !== null);
      expect(new Set(keys).size).toBe(30);
      expect(keys).toHaveLength(30);
    });

    it('never see documents of different moments, even if they need several trips', async () => {
      const [reader, writer] = some(2) as [PostgresKernel, PostgresKernel];
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
      const all = some(3);
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

    it('are stored while expired documents are swept', async () => {
      const [one, two] = some(2) as [PostgresKernel, PostgresKernel];
      const key = (n: number) => `short ${n % 20}`;
      for (let round = 0; round < 5; round++) {
        await one.step((tx) => {
          for (let n = 0; n < 20; n++) tx.put(COUNTER, key(n), { n, expires_at: time + 10 });
        });
        time += 20;
        const puts = Array.from({ length: 20 }, (_, n) => one.step((tx) => tx.put(COUNTER, key(n), { n })));
        await Promise.all([...puts, two.sweep([]), one.sweep([])]);
        const left = await one.step((tx) => Array.from({ length: 20 }, (_, n) => tx.get(COUNTER, key(n))));
        expect(left.every((doc) => doc !== null)).toBe(true);
      }
    });
  });

  it('stores the other steps of a trip if one of them is defective', async () => {
    const [kernel] = some(1) as [PostgresKernel];
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

  it('reports a commit whose connection breaks as StoreUnavailable, and works again', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    await kernel.step(increment('x'));
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE agentd_documents IN EXCLUSIVE MODE');
    try {
      const commit = kernel.step(increment('x')).catch((error: unknown) => error);
      // Each time on a new connection: within a transaction, Postgres shows the activity of its first look again.
      const waiting = () =>
        server.sql(
          "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%agentd_commit%'",
          url,
        );
      await expect.poll(waiting).toMatch(/^\d+$/);
      await server.sql(`SELECT pg_terminate_backend(${await waiting()})`, url);
      expect(await commit).toBeInstanceOf(StoreUnavailable);
      expect(kernel.failure).not.toBeNull();
    } finally {
      await blocker.end();
    }
    expect(await kernel.step(increment('x'))).toBe(2);
    expect(kernel.failure).toBeNull();
  });

  it('puts lazy steps on disk with the next step that is not lazy', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    await kernel.step(increment('lazy'), { lazy: true });
    await kernel.step(increment('lazy'));
    expect(await kernel.step((tx) => tx.items(COUNTER, 'lazy'))).toEqual([1, 2]);
  });

  describe('notifications', () => {
    const tell = (kernel: PostgresKernel, what: string) => kernel.step((tx) => tx.tell('room', what));
    /** What was heard. Resolves as soon as a telling arrives: the first ones may be lost before LISTEN. */
    const hearing = async (teller: PostgresKernel, heard: unknown[], what: string) => {
      while (!heard.includes(what)) {
        await tell(teller, what);
        await delay(20);
      }
    };

    it('arrive at other processes, also after the connection that listens was lost', async () => {
      const [one, two] = some(2) as [PostgresKernel, PostgresKernel];
      const heard: unknown[] = [];
      two.watch('room', (what) => heard.push(what));
      await hearing(one, heard, 'first');
      await server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'",
        url,
      );
      await hearing(one, heard, 'second');
    });

    it('do not arrive in another schema, and what others send does no harm', async () => {
      const other = await server.createSchema(url.replace(/\?.*/, ''));
      await (await openPostgresStore({ url: other, log })).close();
      const [one, two] = some(2) as [PostgresKernel, PostgresKernel];
      const stranger = kernelAt(other);
      const heard: unknown[] = [];
      const strange: unknown[] = [];
      two.watch('room', (what) => heard.push(what));
      stranger.watch('room', (what) => strange.push(what));
      await hearing(one, heard, 'ours');
      await hearing(stranger, strange, 'theirs');
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const payload of ['', 'no JSON', 'null', '{}', '["x"]', '["x",{}]', '["x","error"]'])
        await client.query('SELECT pg_notify(agentd_channel(), $1)', [payload]);
      await client.end();
      await hearing(one, heard, 'later');
      expect(new Set(heard)).toEqual(new Set(['ours', 'later']));
      expect(new Set(strange)).toEqual(new Set(['theirs']));
    });

    it('do not keep a kernel from closing while the server does not answer', async () => {
      const [kernel] = some(1) as [PostgresKernel];
      kernel.watch('room', () => undefined);
      await server.pause();
      try {
        await kernel.close();
      } finally {
        await server.resume();
      }
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
    const [kernel] = some(1) as [PostgresKernel];
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

  it('ends a document with its list and its places when it expires, whether it was swept or not', async () => {
    const [kernel] = some(1) as [PostgresKernel];
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
    expect(await kernel.sweep([])).toBe(1);
    expect(await kernel.sweep([])).toBe(0);
    expect(await shown()).toEqual([null, [], 0, []]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', 1))).toEqual([2]);
  });

  it('sees its own changes in lists and indexes', async () => {
    const [kernel] = some(1) as [PostgresKernel];
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

  it('keeps the newest records of a ring, and deletes the others', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    for (let n = 0; n < 8; n++) await kernel.step((tx) => tx.log(RING, { id: `r${n}` }));
    const ids = async () => (await kernel.found(RING, { limit: 9 })).map(({ id }) => id);
    expect(await ids()).toEqual(['r3', 'r4', 'r5', 'r6', 'r7']);
    expect(await kernel.sweep([RING])).toBe(3);
    time += HOUR;
    expect(await ids()).toEqual([]);
    expect(await kernel.sweep([RING])).toBe(5);
  });

  it('stores very large documents and lists', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    const text = 'ab\n"\u0000 '.repeat(300_000);
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
        kernel.step((tx) => tx.put(COUNTER, `l${n}`, { n, text: text.slice(0, 500_000) })),
      ),
    );
    expect(await kernel.step((tx) => tx.get(COUNTER, 'l11')?.n)).toBe(11);
  });

  it('checks what it has read even if the server’s default is another isolation level', async () => {
    await server.sql('ALTER ROLE postgres SET default_transaction_isolation = serializable', url);
    try {
      const found = await Promise.all(
        some(3).flatMap((kernel) => Array.from({ length: 20 }, () => kernel.step(increment('iso')))),
      );
      expect(new Set(found).size).toBe(60);
    } finally {
      await server.sql('ALTER ROLE postgres RESET default_transaction_isolation', url);
    }
  });
});
