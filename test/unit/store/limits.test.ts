import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { effort } from '../../support/effort.ts';
import { fastStateDirectory } from './state-directory.ts';

// The contract of the store (test/contract) tests what a limit decides. These tests are about many hits.

function fixture() {
  const path = join(fastStateDirectory(), 'agentd.db');
  const time = { now: 1_000_000 };
  const open = (): SqliteStore => {
    const store = openSqliteStore(path, { role: 'daemon', clock: { now: () => time.now } });
    onTestFinished(() => store.close());
    return store;
  };
  return { path, time, open };
}

it('the store writes few bytes for a hit, however many hits are in the window', async () => {
  const { path, time, open } = fixture();
  const store = open();
  // An administrator's tool would be refused, but this trigger is made after the store was opened.
  const db = new Database(path);
  db.exec(`CREATE TABLE sizes (bytes INTEGER);
    CREATE TRIGGER counted AFTER INSERT ON journal BEGIN INSERT INTO sizes VALUES (length(new.changes)); END`);
  const limit = { max: 1_000_000, window_ms: 60_000 };
  const rounds = effort(400, 2000);
  const hits = 20 * rounds;
  for (let round = 0; round < rounds; round++) {
    time.now += 10;
    await Promise.all(Array.from({ length: 20 }, () => store.limits.hit('k', limit)));
    await store.check();
  }
  expect(db.prepare('SELECT max(bytes) FROM sizes').pluck().get()).toBeLessThan(3000);
  db.exec('DROP TRIGGER counted; DROP TABLE sizes');
  db.close();
  await store.close();
  expect(await open().limits.hit('k', limit)).toMatchObject({ remaining: 1_000_000 - hits - 1 });
});

it('the store counts hits exactly across many commits, processes and sweeps, even if the limit changes', async () => {
  const step = fc.oneof(
    {
      weight: 8,
      // Few hits are stored in another way than many.
      arbitrary: fc.record({
        hit: fc.constantFrom('a', 'b'),
        max: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 40, max: 80 })),
        times: fc.oneof(fc.constant(1), fc.integer({ min: 10, max: 40 })),
      }),
    },
    { weight: 4, arbitrary: fc.record({ pass_ms: fc.integer({ min: 0, max: 300 }) }) },
    fc.constant({ sweep: true as const }),
    fc.constant({ anew: true as const }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
      const { time, open } = fixture();
      let own = open();
      const model: Record<string, number[]> = { a: [], b: [] };
      for (const step of steps) {
        if ('pass_ms' in step) time.now += step.pass_ms;
        else if ('sweep' in step) await own.maintenance.sweep();
        else if ('anew' in step) {
          await own.close();
          own = open();
        } else
          for (let times = 0; times < step.times; times++) {
            const { now } = time;
            const counted = model[step.hit] ?? [];
            const hits = counted.filter((at) => at > now - 1000);
            const allowed = hits.length < step.max;
            if (allowed) hits.push(now);
            model[step.hit] = hits;
            const frees = hits.at(-step.max);
            expect(await own.limits.hit(step.hit, { max: step.max, window_ms: 1000 })).toEqual({
              allowed,
              remaining: Math.max(0, step.max - hits.length),
              retry_after_ms: frees === undefined ? 0 : frees + 1000 - now,
              reset_ms: (hits.at(-1) ?? now) + 1000 - now,
            });
          }
      }
      await own.close();
    }),
    { numRuns: effort(20, 600) },
  );
});

it('the store keeps the hits if the clock is set back a little, and drops them if the clock is set back by more than the window', async () => {
  const { time, open } = fixture();
  const { limits } = open();
  const hit = () => limits.hit('k', { max: 10, window_ms: 1000 });
  for (let times = 0; times < 8; times++) {
    time.now += 10;
    await hit();
  }
  time.now -= 500;
  expect(await hit()).toEqual({ allowed: true, remaining: 1, retry_after_ms: 0, reset_ms: 1000 });
  expect(await hit()).toMatchObject({ allowed: true, remaining: 0, retry_after_ms: 930 });
  time.now -= 600;
  // No wait is longer than the window, however often the clock is set back.
  expect(await hit()).toEqual({ allowed: false, remaining: 0, retry_after_ms: 930, reset_ms: 1000 });
  time.now -= 1001;
  expect(await hit()).toEqual({ allowed: true, remaining: 9, retry_after_ms: 0, reset_ms: 1000 });
});
