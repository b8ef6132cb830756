import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Kernel, Kind, Ring, Tx } from '../../src/daemon/store/kernels/kernel.ts';
import { seededRandom } from '../support/random.ts';

export const HOUR = 3_600_000;

export interface Counter {
  n: number;
  group?: string | null;
  expires_at?: number | null;
  text?: string;
}

export const COUNTER: Kind<Counter, number> = {
  name: 'counter',
  hasList: true,
  expires: ({ expires_at = null }) => expires_at,
  indexes: ({ group = null, n }) => (group === null ? [] : [[group, n]]),
};
export const RING: Ring<{ id: string }> = { name: 'ring', max: 5, retention_ms: HOUR, ids: ({ id }) => [id] };

/** Adds one to a counter, and appends the new value to its list. */
export const increment = (key: string) => (tx: Tx) => {
  const n = (tx.get(COUNTER, key)?.n ?? 0) + 1;
  tx.put(COUNTER, key, { n });
  tx.append(COUNTER, key, [n]);
  return n;
};

/** Tells what is told, again and again until a listener has heard it: what is told before it listens may be lost. */
export async function tellUntilHeard(teller: Kernel, heard: unknown[], what: string): Promise<void> {
  while (!heard.includes(what)) {
    await teller.step((tx) => tx.tell('room', what));
    await delay(20);
  }
}

/** A database server, with kernels as different processes have them. */
export interface KernelServer {
  /** The time of the kernels. */
  time: number;
  kernels(count: number): Promise<readonly Kernel[]>;
  /** Ends the connections on which kernels hear notifications. */
  loseListeners(): Promise<unknown>;
}

/** What a kernel promises whose documents several processes share. */
export function sharedKernelContract(server: KernelServer): void {
  describe('steps at the same time', () => {
    it('on one document of one process need a few trips, and none starves', async () => {
      const [kernel] = (await server.kernels(1)) as [Kernel];
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
        (await server.kernels(4)).flatMap((kernel) =>
          Array.from({ length: 25 }, () => kernel.step(increment('hot'))),
        ),
      );
      expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    });

    it('fail alone if a document ends at no whole millisecond', async () => {
      const [kernel] = (await server.kernels(1)) as [Kernel];
      const broken = (tx: Tx) => tx.put(COUNTER, 'broken', { n: 1, expires_at: server.time + 0.5 });
      const steps = Array.from({ length: 20 }, (_, n) => (n === 10 ? broken : increment(`beside ${n}`)));
      const found = await Promise.allSettled(steps.map((step) => kernel.step<unknown>(step)));
      expect(found.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual([10]);
    });

    it('read a document again together with its list, if another process has changed both', async () => {
      const [one, other] = (await server.kernels(2)) as [Kernel, Kernel];
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
      const all = await server.kernels(3);
      const [one] = all as [Kernel];
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
        Array.from({ length: 240 }, (_, n) => (all[n % 3] as Kernel).step(move())),
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
      const all = await server.kernels(3);
      const [one] = all as [Kernel];
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
        Array.from({ length: 45 }, (_, n) => (all[n % 3] as Kernel).step(claim)),
      );
      const keys = claimed.filter((key) => key !== null);
      expect(new Set(keys).size).toBe(30);
      expect(keys).toHaveLength(30);
    });

    it('take the documents of an index in its order, also if they put them at its end', async () => {
      const [kernel] = (await server.kernels(1)) as [Kernel];
      const names = Array.from({ length: 20 }, (_, n) => `place ${n}`);
      await kernel.step((tx) => {
        for (const [n, key] of names.entries()) tx.put(COUNTER, key, { n, group: 'round' });
      });
      const next = (tx: Tx) => {
        const [found] = tx.first(COUNTER, 'round', 1);
        if (found === undefined) throw new Error('the index is empty');
        tx.put(COUNTER, found.key, { ...found.doc, n: found.doc.n + names.length });
        return found.key;
      };
      const taken = await Promise.all(names.map(() => kernel.step(next)));
      expect(taken.sort()).toEqual(names.sort());
    });

    it('never see documents of different moments, even if they need several trips', async () => {
      const [reader, writer] = (await server.kernels(2)) as [Kernel, Kernel];
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
      const all = await server.kernels(3);
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

  it('stores the other steps of a trip if one of them is defective', async () => {
    const [kernel] = (await server.kernels(1)) as [Kernel];
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
    it('arrive at other processes, also after the connection that listens was lost', async () => {
      const [one, two] = (await server.kernels(2)) as [Kernel, Kernel];
      const heard: unknown[] = [];
      two.watch('room', (what) => heard.push(what));
      await tellUntilHeard(one, heard, 'first');
      await server.loseListeners();
      await tellUntilHeard(one, heard, 'second');
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
    const [kernel] = (await server.kernels(1)) as [Kernel];
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
    expect(await kernel.findRecords(RING, { id: key, limit: 9 })).toEqual([{ id: key }]);
    const scanned = [];
    for await (const entry of kernel.scan(COUNTER)) scanned.push(entry);
    expect(scanned).toEqual([{ key, doc }]);
    await kernel.step((tx) => tx.delete(COUNTER, key));
    expect(
      await kernel.step((tx) => [tx.get(COUNTER, key), tx.count(COUNTER, key), tx.items(COUNTER, key)]),
    ).toEqual([null, 0, []]);
  });

  it('ends a document with its list and its places when it expires', async () => {
    const [kernel] = (await server.kernels(1)) as [Kernel];
    const shown = () =>
      kernel.step((tx) => [
        tx.get(COUNTER, 'x'),
        tx.items(COUNTER, 'x'),
        tx.count(COUNTER, 'g'),
        tx.first(COUNTER, 'g', 9),
      ]);
    const make = () =>
      kernel.step((tx) => {
        tx.put(COUNTER, 'x', { n: 1, group: 'g', expires_at: server.time + 10 });
        tx.append(COUNTER, 'x', [1, 2]);
      });
    await make();
    server.time += 10;
    expect(await shown()).toEqual([null, [], 0, []]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x'))).toEqual([1, 2]);
    server.time += 10;
    expect(await shown()).toEqual([null, [], 0, []]);
    const again = (tx: Tx) => {
      tx.put(COUNTER, 'x', { n: 1 });
      return tx.items(COUNTER, 'x');
    };
    expect(await kernel.step(again)).toEqual([]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', 1))).toEqual([2]);
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', -1))).toEqual([2]);
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', -5))).toEqual([1, 2]);
    const newest = (tx: Tx) => {
      tx.append(COUNTER, 'x', [3]);
      return [tx.items(COUNTER, 'x', 2), tx.items(COUNTER, 'x', -1), tx.items(COUNTER, 'x', -2)];
    };
    expect(await kernel.step(newest)).toEqual([[3], [3], [2, 3]]);
  });

  it('sees its own changes in lists and indexes', async () => {
    const [kernel] = (await server.kernels(1)) as [Kernel];
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
    const [kernel] = (await server.kernels(1)) as [Kernel];
    for (let n = 0; n < 8; n++) await kernel.step((tx) => tx.log(RING, { id: `r${n}` }));
    const ids = async () => (await kernel.findRecords(RING, { limit: 9 })).map(({ id }) => id);
    expect(await ids()).toEqual(['r3', 'r4', 'r5', 'r6', 'r7']);
    server.time += HOUR;
    expect(await ids()).toEqual([]);
  });

  it('stores very large documents and lists', async () => {
    const [kernel] = (await server.kernels(1)) as [Kernel];
    const text = 'ab\n"\u0000 '.repeat(200_000);
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
        kernel.step((tx) => tx.put(COUNTER, `l${n}`, { n, text: text.slice(0, 200_000) })),
      ),
    );
    expect(await kernel.step((tx) => tx.get(COUNTER, 'l11')?.n)).toBe(11);
  });
}
