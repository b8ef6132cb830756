import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { connectTo, openAt, stateDirectory } from './state-directory.ts';

/**
 * The store blocks for 20 ms at a time. If it blocked until the lock is free, the pause would be almost `HELD_MS`: on
 * each attempt. A busy machine can also pause this process for so long, but not three times.
 */
const LONGEST_PAUSE_MS = 1000;
const HELD_MS = 1500;

function fixture() {
  const path = join(stateDirectory(), 'agentd.db');
  const store = openAt(path);
  const other = connectTo(path);
  /** Holds the lock. @returns a function that ends it */
  const take = () => {
    other.exec('BEGIN IMMEDIATE');
    return () => void other.exec('ROLLBACK');
  };
  const hold = (ms: number) => wait(ms).then(take());
  const save = (user_id: string) => saveSession(store, aSession(Date.now(), { user_id }));
  return { path, store, take, hold, save };
}

/** The longest pause of the event loop during this work, ms. */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e6;
}

it('the store waits for the lock of another process without blocking the event loop, and then writes', {
  retry: 2,
}, async () => {
  const { store, hold, save } = fixture();
  const pause = await longestPause(async () => {
    const held = hold(HELD_MS);
    const began = performance.now();
    const writes = [save('ada'), wait(700).then(() => save('bob'))];
    expect(await Promise.all(writes)).toEqual(['saved', 'saved']);
    expect(performance.now() - began).toBeGreaterThan(1000);
    await held;
  });
  expect(pause).toBeLessThan(LONGEST_PAUSE_MS);
  const users = (await store.sessions.list({ limit: 10 })).map(({ user_id }) => user_id);
  expect(users.sort()).toEqual(['ada', 'bob']);
});

it('the store refuses a write that has waited 2 s for the lock, reports the lock in its condition, and later writes again', async () => {
  const { store, take, save } = fixture();
  expect(store.condition()).toEqual({ writable: true, detail: null });
  const release = take();
  const began = performance.now();
  const early = save('early').catch((error: unknown) => error);
  const late = wait(1500).then(() => save('late'));
  const refused = await early;
  expect(refused).toBeInstanceOf(StoreUnavailable);
  expect(refused).toMatchObject({ retryAfter: 5, cause: { code: 'SQLITE_BUSY' } });
  expect(performance.now() - began).toBeGreaterThan(1900);
  expect(store.condition()).toEqual({
    writable: false,
    detail: 'Another process holds the lock of the database.',
  });
  release();
  expect(await late).toBe('saved');
  expect(store.condition().writable).toBe(true);
});

it('if the store is closed while another process has the lock, the store still writes waiting data', async () => {
  const { path, store, hold, save } = fixture();
  const held = hold(300);
  const saved = save('ada');
  await store.close();
  expect(await saved).toBe('saved');
  await held;
  expect(await openAt(path).sessions.list({ limit: 10 })).toHaveLength(1);
});

it('a command opens the store and reads it without waiting while another process has the lock', async () => {
  const { path, save } = fixture();
  await save('ada');
  connectTo(path).exec('BEGIN IMMEDIATE');
  const began = performance.now();
  expect(await openAt(path, 'administrator').sessions.list({ limit: 10 })).toHaveLength(1);
  // A command that waited would wait for 5 seconds.
  expect(performance.now() - began).toBeLessThan(4500);
});
