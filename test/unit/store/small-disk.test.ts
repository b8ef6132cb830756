import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { RESERVE_BYTES } from '../../../src/daemon/store/disk.ts';
import { StoreFull } from '../../../src/daemon/store/failures.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession, aTrace, aTurn } from '../../contract/fixtures.ts';
import { commitUnderClaim } from '../../contract/store-writes.ts';
import { canMount, smallDisk } from '../../support/small-disk.ts';

const TTL_MS = 60_000;
const MIB = 1024 * 1024;

function fixture(mib: number) {
  const directory = smallDisk(mib);
  const time = { now: Date.now() };
  const open = (more: { reserveBytes?: number; anonymousMax?: number } = { reserveBytes: RESERVE_BYTES }) => {
    const store = openSqliteStore(join(directory, 'agentd.db'), {
      role: 'daemon',
      clock: { now: () => time.now },
      traceRetentionMs: TTL_MS,
      ...more,
    });
    onTestFinished(() => store.close());
    return store;
  };
  const free = () => {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  };
  /** Fills all remaining space, as another program could. @returns a function that frees the space */
  const takeAll = () => {
    const ballast = join(directory, 'ballast');
    expect(() => writeFileSync(ballast, Buffer.alloc(mib * MIB, 'x'))).toThrow('ENOSPC');
    expect(free()).toBe(0);
    return () => rmSync(ballast);
  };
  return { directory, time, store: open(), open, free, takeAll };
}

/** @returns the session of the turn. */
async function keepOneTurn(store: SqliteStore, now: number, length = 36_000): Promise<string> {
  const session = aSession(now, { expires_at: now + TTL_MS });
  // The text is long, so that few turns fill the disk.
  const record = aTurn({ text: randomUUID().repeat(length / 36) });
  const changes = { session, turn: { record, ttl_ms: TTL_MS }, trace: aTrace(session) };
  await commitUnderClaim(store, session.session_id, changes);
  return session.session_id;
}

/** Writes until the disk is full. @returns the sessions whose turns were acknowledged. */
async function fill(store: SqliteStore, now: number): Promise<string[]> {
  const kept: string[] = [];
  for (;;) {
    try {
      kept.push(await keepOneTurn(store, now));
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable);
      return kept;
    }
  }
}

async function sweepAll(store: SqliteStore): Promise<void> {
  while ((await store.maintenance.sweep()) > 0);
}

const reserveOf = (directory: string) => join(directory, 'agentd.reserve');

it.skipIf(!canMount)(
  'the store recovers by itself from a full disk when rows expire',
  { timeout: 120_000 },
  async () => {
    const { directory, time, store, free } = fixture(40);
    await sweepAll(store);
    const { size, blocks, mode } = statSync(reserveOf(directory));
    expect(size).toBe(16 * MIB);
    expect(blocks * 512).toBeGreaterThanOrEqual(RESERVE_BYTES);
    expect(mode & 0o777).toBe(0o600);
    const before = free();

    for (let round = 0; round < 2; round++) {
      const kept = await fill(store, time.now);
      expect(free()).toBeLessThan(MIB);
      expect(() => store.expectRoom()).toThrow(StoreFull);
      expect(store.condition()).toEqual({ writable: false, detail: 'The volume of STATE_DIR is full.' });
      for (const session of kept) expect(await store.sessions.turns(session)).toHaveLength(1);

      // Nothing has expired, so the sweep frees no space, and may fail because the disk is full.
      await sweepAll(store).catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnavailable));
      expect(await store.sessions.turns(kept[0] ?? '')).toHaveLength(1);

      time.now += TTL_MS + 1;
      await sweepAll(store);
      await store.check();
      expect(store.condition()).toEqual({ writable: true, detail: null });
      expect(() => store.expectRoom()).not.toThrow();
      expect(free()).toBeGreaterThan(before - 4 * MIB);
      expect(statSync(reserveOf(directory)).size).toBe(RESERVE_BYTES);
      expect(await keepOneTurn(store, time.now)).toBeTruthy();
    }
  },
);

it.skipIf(!canMount).each([0, 200])(
  'after %i turns, the store recovers even if other programs have filled the disk to the last byte and free nothing',
  async (turns) => {
    const { time, store, takeAll } = fixture(64);
    await sweepAll(store);
    for (let turn = 0; turn < turns; turn++) await keepOneTurn(store, time.now);
    takeAll();
    await fill(store, time.now);

    time.now += TTL_MS + 1;
    await sweepAll(store);
    await store.check();
    expect(store.condition()).toEqual({ writable: true, detail: null });
    await keepOneTurn(store, time.now);
  },
);

it.skipIf(!canMount)(
  'the store still stores answers when so little space is left that it refuses new messages',
  async () => {
    const { directory, time, store, free } = fixture(64);
    await sweepAll(store);
    const low_water = 0.05 * 64 * MIB;
    const fill = (left: number) =>
      writeFileSync(join(directory, 'ballast'), Buffer.alloc(free() - left, 'x'), { flag: 'a' });
    fill(low_water + MIB / 8);
    // The daemon remembers the free space for 50 ms.
    await delay(60);
    expect(() => store.expectRoom()).not.toThrow();
    fill(low_water - 4096);
    await expect
      .poll(() => store.condition())
      .toEqual({
        writable: false,
        detail: 'The volume of STATE_DIR has 3 MiB left; new messages are refused below 4 MiB.',
      });
    expect(() => store.expectRoom()).toThrow(StoreFull);
    expect(await store.sessions.turns(await keepOneTurn(store, time.now))).toHaveLength(1);

    rmSync(join(directory, 'ballast'));
    await expect.poll(() => store.condition()).toEqual({ writable: true, detail: null });
  },
);

// After 350 turns, the write-ahead log has its maximum size, and needs almost as much space in the database.
it.skipIf(!canMount).each([0, 200, 350])(
  'after %i turns, the store still stores answers when other programs have filled the disk to the last byte',
  async (turns) => {
    const { directory, time, store, free, takeAll } = fixture(64);
    await sweepAll(store);
    await Promise.all(Array.from({ length: turns }, () => keepOneTurn(store, time.now)));
    const [before, giveBack] = [free(), takeAll()];

    const kept: string[] = [];
    for (let turn = 0; turn < 100; turn++) kept.push(await keepOneTurn(store, time.now));
    // The sweep does not fail although nothing has expired.
    await sweepAll(store);
    for (const session of kept) expect(await store.sessions.turns(session)).toHaveLength(1);

    giveBack();
    await sweepAll(store);
    expect(store.condition()).toEqual({ writable: true, detail: null });
    expect(statSync(reserveOf(directory)).size).toBe(RESERVE_BYTES);
    time.now += TTL_MS + 1;
    await sweepAll(store);
    expect(free()).toBeGreaterThan(before - 4 * MIB);
  },
);

it.skipIf(!canMount)(
  'the store starts on a disk that is full to the last byte, and stores answers there',
  async () => {
    const { time, store, open, takeAll } = fixture(64);
    await sweepAll(store);
    const session = await keepOneTurn(store, time.now);
    await store.close();
    takeAll();
    expect(() => open({})).toThrow(StoreUnavailable);

    const again = open();
    expect(await again.sessions.turns(session)).toHaveLength(1);
    const later = await keepOneTurn(again, time.now);
    expect(await again.sessions.turns(later)).toHaveLength(1);
  },
);

it.skipIf(!canMount)(
  'the store starts if other programs have taken most of what the reserve released, and recovers when rows expire',
  async () => {
    const { directory, time, store, open, takeAll } = fixture(64);
    await sweepAll(store);
    await Promise.all(Array.from({ length: 4000 }, () => keepOneTurn(store, time.now, 36)));
    const kept = await keepOneTurn(store, time.now);
    await store.close();
    // The rest of a reserve whose first part was released.
    writeFileSync(reserveOf(directory), Buffer.alloc(RESERVE_BYTES / 4, 'x'));
    takeAll();
    truncateSync(join(directory, 'ballast'), statSync(join(directory, 'ballast')).size - 2 * MIB);

    const again = open({ reserveBytes: RESERVE_BYTES, anonymousMax: 1024 * MIB });
    expect(await again.sessions.turns(kept)).toHaveLength(1);
    const later = await keepOneTurn(again, time.now);
    expect(await again.sessions.turns(later)).toHaveLength(1);

    time.now += TTL_MS + 1;
    await sweepAll(again);
    await keepOneTurn(again, time.now);
    expect(again.condition()).toEqual({ writable: true, detail: null });
  },
);

it.skipIf(!canMount)('the store makes no reserve on a disk that is too small for a reserve', async () => {
  const { directory, store } = fixture(12);
  await sweepAll(store);
  expect(existsSync(reserveOf(directory))).toBe(false);
  expect(store.condition().writable).toBe(true);
});
