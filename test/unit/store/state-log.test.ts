import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Packing, StateLog } from '../../../src/daemon/store/sqlite/state-log.ts';
import { GroupCommit } from '../../../src/daemon/store/sqlite/writer.ts';
import { connectTo, stateDirectory } from './state-directory.ts';

const HOUR = 3_600_000;
const SUM: Packing<{ sum: number; parts: number }, number> = {
  pack: ({ sum, parts }) => [sum, parts],
  unpack: ([sum, parts]: [number, number]) => ({ sum, parts }),
  packChange: (change) => change,
  unpackChange: (packed: number) => packed,
  apply: ({ sum, parts }, change) => ({ sum: sum + change, parts: parts + 1 }),
  size: ({ parts }) => parts,
};

interface Process {
  commit: GroupCommit;
  log: StateLog<{ sum: number; parts: number }, number>;
  put(key: string, sum: number, expires_at?: number): Promise<void>;
  add(key: string, change: number, expires_at?: number): Promise<void>;
  get(key: string): Promise<number | null>;
}

function fixture() {
  const path = join(stateDirectory(), 'x.db');
  const time = { now: 1_000_000 };
  const clock = { now: () => time.now };
  const db = connectTo(path);
  db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT');
  return { db, time, process, rows: () => db.prepare('SELECT count(*) FROM log').pluck().get() as number };

  /** A stand-in for another process that works on the same file. */
  function process(): Process {
    const own = connectTo(path);
    const commit = new GroupCommit(own);
    const log = new StateLog(own, 'log', SUM, clock);
    commit.keep(log);
    return {
      commit,
      log,
      put: (key, sum, expires_at = time.now + HOUR) =>
        commit.write(() => log.put(key, { sum, parts: 0 }, null, expires_at)),
      add: (key, change, expires_at = time.now + HOUR) =>
        commit.write(() => {
          const state = log.get(key, time.now);
          if (!state) throw new Error(`there is no ${key}`);
          log.put(key, SUM.apply(state, change), change, expires_at);
        }),
      get: (key) => commit.write(() => log.get(key, time.now)?.sum ?? null),
    };
  }
}

it('the log stores all changes of one commit in one row', async () => {
  const { process, rows } = fixture();
  const { put, get } = process();
  await Promise.all([put('a', 1), put('b', 2), put('a', 3)]);
  expect(rows()).toBe(1);
  expect([await get('a'), await get('b'), await get('c')]).toEqual([3, 2, null]);
});

it('a change of the log is visible to a parallel process at once, and to the next process', async () => {
  const { process } = fixture();
  const [first, second] = [process(), process()];
  await first.put('a', 1);
  expect(await second.get('a')).toBe(1);
  await second.put('a', 2);
  expect(await first.get('a')).toBe(2);
  await first.commit.write(() => first.log.delete('a'));
  expect(await second.get('a')).toBeNull();
  expect(await process().get('a')).toBeNull();
});

it('the log drops the changes of a write that fails', async () => {
  const { process } = fixture();
  const { commit, log, put, get } = process();
  await put('a', 1);
  const failing = commit.write(() => {
    log.put('a', { sum: 2, parts: 0 }, null, Number.MAX_SAFE_INTEGER);
    log.delete('b');
    throw new Error('a defect');
  });
  const beside = put('b', 5);
  await expect(failing).rejects.toThrow('a defect');
  await beside;
  expect([await get('a'), await get('b')]).toEqual([1, 5]);
});

it('the log hides and deletes expired entries, and a later change never makes an entry expire earlier', async () => {
  const { process, time, rows } = fixture();
  const { commit, log, put, get } = process();
  await put('a', 1, time.now + 100);
  await put('b', 1, time.now + 200);
  await put('b', 2, time.now + 50);
  time.now += 100;
  expect([await get('a'), await get('b')]).toEqual([null, 2]);
  const sweep = () => commit.write(() => log.deleteExpired(10));
  expect(await sweep()).toBe(1);
  time.now += 100;
  expect(await sweep()).toBe(1);
  expect(await sweep()).toBe(0);
  expect(rows()).toBe(0);
});

it('the log reports at most as many deletions as were requested, even if it deletes a whole row', async () => {
  const { process, time, rows } = fixture();
  const { commit, log, put } = process();
  await Promise.all(['a', 'b', 'c'].map((key) => put(key, 1, time.now + 10)));
  time.now += 10;
  expect(await commit.write(() => log.deleteExpired(1))).toBe(1);
  expect(rows()).toBe(0);
});

it('the log deletes expired entries even if the oldest row has a key that is still in use', async () => {
  const { process, time, rows } = fixture();
  const { commit, log, put, add, get } = process();
  await put('steady', 1);
  for (let n = 0; n < 100; n++) {
    await put(`once ${n}`, 1, time.now + 10);
    await add('steady', 1);
    time.now += 1;
  }
  time.now += 10;
  expect(await commit.write(() => log.deleteExpired(1000))).toBe(100);
  expect([await get('steady'), rows()]).toEqual([101, 1]);
  expect(await process().get('steady')).toBe(101);
});

it('the log stores additions, and the next process reads the full sums, even if one commit sets a key and adds to it', async () => {
  const { process, db } = fixture();
  const { put, add, get } = process();
  await put('large', 1);
  await add('large', 10);
  await Promise.all([add('large', 100), put('new', 1), add('new', 1000), add('large', 1000)]);
  expect([await get('large'), await get('new')]).toEqual([1111, 1001]);
  const next = process();
  expect([await next.get('large'), await next.get('new')]).toEqual([1111, 1001]);
  expect(db.prepare('SELECT entries FROM log ORDER BY id').pluck().all().map(String)).toEqual([
    expect.stringContaining('[1,0]'),
    expect.stringContaining('[10]'),
    expect.stringMatching(/\[100,1000\].*\[1001,1\]/),
  ]);
});

it('the log counts an addition once if another write of the same commit fails', async () => {
  const { process } = fixture();
  const { commit, put, add, get } = process();
  await put('a', 1);
  const failing = commit.write(() => {
    throw new Error('a defect');
  });
  const beside = add('a', 10);
  await expect(failing).rejects.toThrow('a defect');
  await beside;
  await add('a', 100);
  expect([await get('a'), await process().get('a')]).toEqual([111, 111]);
});

it('the log stays short however often a key changes, and keeps a key that does not change', async () => {
  const { process, db, rows } = fixture();
  const { put, get } = process();
  await put('still', 7);
  for (let round = 0; round < 40; round++) {
    await Promise.all(Array.from({ length: 100 }, (_, key) => put(`k${key}`, round)));
  }
  expect(rows()).toBeLessThan(15);
  const entries = db.prepare('SELECT sum(json_array_length(entries)) FROM log').pluck().get();
  expect(entries).toBeLessThan(1500);
  const next = process();
  expect([await get('still'), await next.get('still'), await next.get('k99')]).toEqual([7, 7, 39]);
});

it('the log always has the same content as a map, whatever operations several processes make', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({ put: key, sum: fc.nat(9), for_ms: fc.integer({ min: 1, max: 50 }) }),
    fc.record({ add: key, sum: fc.nat(9), for_ms: fc.integer({ min: 1, max: 50 }) }),
    fc.record({ delete: key }),
    fc.record({ pass_ms: fc.integer({ min: 0, max: 30 }) }),
    fc.constant({ sweep: true as const }),
    fc.constant({ fail: true as const }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.boolean(), step), { maxLength: 40 }), async (steps) => {
      const { process, time } = fixture();
      const both = [process(), process()] as const;
      const model = new Map<string, { sum: number; expires_at: number }>();
      for (const [second, step] of steps) {
        const { commit, log } = both[second ? 1 : 0];
        if ('put' in step) {
          const expires_at = time.now + step.for_ms;
          const before = model.get(step.put)?.expires_at ?? 0;
          model.set(step.put, { sum: step.sum, expires_at: Math.max(before, expires_at) });
          await commit.write(() => log.put(step.put, { sum: step.sum, parts: 0 }, null, expires_at));
        } else if ('add' in step) {
          const before = model.get(step.add);
          if (!before || before.expires_at <= time.now) continue;
          const expires_at = Math.max(before.expires_at, time.now + step.for_ms);
          model.set(step.add, { sum: before.sum + step.sum, expires_at });
          await (second ? both[1] : both[0]).add(step.add, step.sum, time.now + step.for_ms);
        } else if ('delete' in step) {
          model.delete(step.delete);
          await commit.write(() => log.delete(step.delete));
        } else if ('sweep' in step) await commit.write(() => log.deleteExpired(100));
        else if ('fail' in step) {
          const undone = commit.write(() => {
            for (const name of 'abcd') log.put(name, { sum: 99, parts: 0 }, null, Number.MAX_SAFE_INTEGER);
            throw new Error('undone');
          });
          await expect(undone).rejects.toThrow('undone');
        } else time.now += step.pass_ms;
        for (const one of both) {
          for (const name of 'abcd') {
            const entry = model.get(name);
            const sum = entry && entry.expires_at > time.now ? entry.sum : null;
            expect(await one.commit.read(() => one.log.get(name, time.now)?.sum ?? null)).toBe(sum);
          }
        }
      }
    }),
    { numRuns: 30 },
  );
});
