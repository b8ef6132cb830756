import { join } from 'node:path';
import { setImmediate as ioPhase } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import type { Kind, Ring, Tx } from '../../../src/daemon/store/kernels/kernel.ts';
import { openDatabase } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import { SqliteKernel, type SqliteKernelParts } from '../../../src/daemon/store/kernels/sqlite/kernel.ts';
import { prepareLayout } from '../../../src/daemon/store/kernels/sqlite/layout.ts';
import { hashOf } from '../../../src/daemon/store/kernels/sqlite/table.ts';
import { failingToRead } from './failing-connection.ts';
import { connectTo, fastStateDirectory, stateDirectory } from './state-directory.ts';

interface Thing {
  n: number;
  ends_at: number | null;
  group: string | null;
  wide: string | null;
}

const THING: Kind<Thing, number> = {
  name: 'thing',
  expires: ({ ends_at }) => ends_at,
  indexes: ({ n, group, wide }) => [
    ...(group === null ? [] : [[`group ${group}`, n] as const]),
    ...(wide === null ? [] : [[`wide ${wide}`, n] as const]),
  ],
  isWide: (index) => index.startsWith('wide '),
};
const CLAIM: Kind<{ owner: string }> = { name: 'claim', expires: () => null, isVolatile: true };
const RING: Ring<{ id: string }> = { name: 'ring', max: 100, retention_ms: 1000, ids: ({ id }) => [id] };

const aThing = (n: number, members: Partial<Thing> = {}): Thing => ({
  ...{ n, ends_at: null, group: null, wide: null },
  ...members,
});

function fixture(parts: Partial<SqliteKernelParts> = {}, path = join(stateDirectory(), 'agentd.db')) {
  const time = { now: 1_000_000 };
  new Database(path).close();
  const open = (
    isDaemon: boolean,
    more: Partial<SqliteKernelParts> = parts,
    through = (db: Database.Database) => db,
  ) => {
    const db = through(openDatabase(path));
    prepareLayout(db);
    db.pragma('busy_timeout = 0');
    const kernel = new SqliteKernel({ db, clock: { now: () => time.now }, isDaemon, ...more });
    onTestFinished(async () => {
      await kernel.close();
      db.close();
    });
    return { kernel, db };
  };
  const { kernel, db } = open(true);
  const put = (key: string, n = 0) => kernel.step((tx) => tx.put(THING, key, aThing(n)));
  const stored = async () => {
    const found: string[] = [];
    for await (const { key } of open(false, {}).kernel.scan(THING)) found.push(key);
    return found.sort();
  };
  const commits = () => db.prepare('SELECT max(id) FROM journal').pluck().get() as number;
  return { path, time, kernel, db, open, put, stored, commits };
}

/** From now on in this test, `performance.now()` stands still. @returns a function that lets some ms pass */
function stoppedTime(): (ms: number) => void {
  let now = performance.now();
  const stopped = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => stopped.mockRestore());
  return (ms) => {
    now += ms;
  };
}

const upTo = (n: number) => Array.from({ length: n }, (_, place) => `k${place}`);

it('a commit has all steps of one tick of the event loop, and only then do they resolve', async () => {
  const { put, stored, commits } = fixture();
  const steps = upTo(100).map((key) => put(key));
  expect(await stored()).toEqual([]);
  await steps[0];
  expect(await stored()).toHaveLength(100);
  await Promise.all(steps);
  expect(commits()).toBe(1);
});

it('a commit has steps that arrive a moment later, and waits for them at most as long as the last commit took', async () => {
  const { kernel, put, commits } = fixture();
  const pass = stoppedTime();
  await kernel.write(() => pass(200));
  const first = put('a');
  await ioPhase();
  await Promise.all([first, put('b')]);
  expect(commits()).toBe(1);
  // If no other step arrives, the commit does not wait for one.
  await put('c');
  await put('d');
  expect(commits()).toBe(3);
});

it('one slow commit does not delay later steps for long', async () => {
  const { kernel, put } = fixture();
  const pass = stoppedTime();
  await kernel.write(() => pass(1000));
  let isCommitted = false;
  const first = put('first').then(() => {
    isCommitted = true;
  });
  // A step arrives at each tick of the event loop, and a tick takes 2 ms, so 25 arrive within 50 ms.
  const others: Promise<unknown>[] = [];
  while (!isCommitted) {
    others.push(put(`k${others.length}`));
    pass(2);
    await ioPhase();
  }
  await Promise.all([first, ...others]);
  expect(others.length).toBeLessThan(30);
});

it('a step that throws fails alone, with all that it has changed', async () => {
  const { kernel, put, stored } = fixture();
  const results = await Promise.allSettled([
    put('a'),
    kernel.step((tx) => {
      tx.put(THING, 'b', aThing(1));
      tx.log(RING, { id: 'b' });
      throw new RangeError('a defect');
    }),
    kernel.step((tx) => tx.put(THING, 'c', { ...aThing(1), group: 1n as never })),
    kernel.write(() => {
      throw new RangeError('another defect');
    }),
    put('d'),
  ]);
  expect(results.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  ]);
  expect(await stored()).toEqual(['a', 'd']);
  expect(await kernel.findRecords(RING, { limit: 10 })).toEqual([]);
});

it('a step that only reads resolves at once, unless it has read what is not committed', async () => {
  const { kernel, put, db } = fixture();
  await put('a', 1);
  const other = new Database(db.name);
  other.exec('BEGIN IMMEDIATE');
  const write = put('b', 2);
  expect(await kernel.step((tx) => tx.get(THING, 'a')?.n)).toBe(1);
  let isRead = false;
  const read = kernel
    .step((tx) => tx.get(THING, 'b')?.n)
    .then((n) => {
      isRead = true;
      return n;
    });
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(isRead).toBe(false);
  other.exec('ROLLBACK');
  other.close();
  await write;
  expect(await read).toBe(2);
});

it('all steps are rejected while the database is full, none is stored, and steps work again when there is room', async () => {
  const { db, kernel, put, stored } = fixture();
  await put('a');
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  const big = (key: string) =>
    kernel.step((tx) => tx.put(THING, key, aThing(0, { group: 'x'.repeat(9000) })));
  for (const result of await Promise.allSettled(['b', 'c'].map(big))) {
    expect(result).toMatchObject({ reason: { code: 'unavailable', cause: { code: 'SQLITE_FULL' } } });
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(StoreUnavailable);
  }
  expect(db.inTransaction).toBe(false);
  expect(kernel.failure).not.toBeNull();
  expect(await stored()).toEqual(['a']);
  db.pragma('max_page_count = 1000000');
  await big('b');
  expect(kernel.failure).toBeNull();
  expect(await stored()).toEqual(['a', 'b']);
});

it('a commit is tried once more if room can be made for it', async () => {
  let made = 0;
  const all = fixture({
    space: {
      makeRoom: () => {
        made++;
        all.db.pragma('max_page_count = 1000000');
        return true;
      },
      afterCommit: () => undefined,
    },
  });
  await all.put('a');
  all.db.pragma(`max_page_count = ${all.db.pragma('page_count', { simple: true })}`);
  const hit = all.kernel.step((tx) => tx.put(THING, 'lazy', aThing(1)), { lazy: true });
  await all.kernel.step((tx) => tx.put(THING, 'b', aThing(0, { group: 'x'.repeat(9000) })));
  await hit;
  expect(made).toBe(1);
  expect(await all.stored()).toEqual(['a', 'b', 'lazy']);
});

it('steps are rejected on a read-only database', async () => {
  const { db, put, stored } = fixture();
  db.pragma('query_only = ON');
  await expect(put('a')).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'SQLITE_READONLY' } });
  db.pragma('query_only = OFF');
  await put('b');
  expect(await stored()).toEqual(['b']);
});

it('waiting steps are stored when the store is closed, and later steps are refused', async () => {
  const { kernel, put, stored } = fixture();
  const steps = ['a', 'b'].map((key) => put(key));
  const lazy = kernel.step((tx) => tx.put(THING, 'c', aThing(1)), { lazy: true });
  await kernel.close();
  await Promise.all([...steps, lazy]);
  expect(await stored()).toEqual(['a', 'b', 'c']);
  await expect(put('d')).rejects.toBeInstanceOf(StoreUnavailable);
});

it('a lazy step resolves at once, and is stored within 20 ms, or together with the step that follows', async () => {
  const { kernel, put, stored, commits } = fixture();
  const lazy = (key: string) => kernel.step((tx) => tx.put(THING, key, aThing(1)), { lazy: true });
  await lazy('a');
  expect(await stored()).toEqual([]);
  await put('b');
  expect(await stored()).toEqual(['a', 'b']);
  expect(commits()).toBe(1);
  await lazy('c');
  await expect.poll(stored).toEqual(['a', 'b', 'c']);
});

it('a lazy step waits for the commit while commits fail, but the steps of claims do not', async () => {
  const { kernel, db, put, stored } = fixture();
  db.pragma('query_only = ON');
  await expect(put('a')).rejects.toBeInstanceOf(StoreUnavailable);
  const lazy = (key: string, onlyClaims?: true) =>
    kernel.step((tx) => tx.put(THING, key, aThing(1)), { lazy: true, ...(onlyClaims ? { onlyClaims } : {}) });
  await expect(lazy('b')).rejects.toBeInstanceOf(StoreUnavailable);
  await lazy('c', true);
  db.pragma('query_only = OFF');
  await put('d');
  expect(await stored()).toEqual(['c', 'd']);
});

it('steps see at once what another process has written, and run again on top of it', async () => {
  const { kernel, put, open } = fixture();
  const beside = open(false).kernel;
  await put('a', 1);
  const lazy = kernel.step(
    (tx) => {
      tx.put(THING, 'a', aThing((tx.get(THING, 'a')?.n ?? 0) + 10));
    },
    { lazy: true },
  );
  await lazy;
  await beside.step((tx) => tx.put(THING, 'a', aThing((tx.get(THING, 'a')?.n ?? 0) + 100)));
  expect(await kernel.step((tx) => tx.get(THING, 'a')?.n)).toBe(111);
  await put('b');
  await beside.step((tx) => tx.delete(THING, 'a'));
  expect(await kernel.step((tx) => tx.get(THING, 'a'))).toBeNull();
});

it.each(['SQLITE_BUSY', 'SQLITE_IOERR_READ'])(
  'no step answers with what is outdated, whichever read before it fails with %s',
  async (code) => {
    const { kernel: other, open, time } = fixture();
    let countdown = -1;
    const { kernel } = open(false, {}, (db) =>
      failingToRead(db, () => (countdown-- === 0 ? { code, first: 'nothing' } : null)),
    );
    const put =
      (n: number, ...keys: string[]) =>
      (tx: Tx) => {
        for (const key of keys) tx.put(THING, key, aThing(n));
      };
    const see = (tx: Tx) => ['a', 'b', 'c', 'd'].map((key) => tx.get(THING, key)?.n).join();
    for (let [nth, n] = [0, 0]; countdown < 0; nth++, n++) {
      countdown = -1;
      await kernel.step(see);
      await kernel.step(put(n, 'c'), { lazy: true });
      await kernel.step(put(n, 'd'), { lazy: true });
      await other.step(put(n, 'a', 'b'));
      await other.write(() => other.journal.empty(time.now));
      countdown = nth;
      const steps = await Promise.allSettled(['first', 'second', 'third'].map(() => kernel.step(see)));
      for (const step of steps)
        if (step.status === 'fulfilled') expect(step.value, `read ${nth}`).toBe(`${n},${n},${n},${n}`);
        else expect(step.reason).toBeInstanceOf(StoreUnavailable);
    }
  },
);

it('a step that puts what is stored writes nothing, even if it puts something else before', async () => {
  const { kernel, put, commits, open } = fixture();
  await put('a', 1);
  await put('a', 1);
  await kernel.step((tx) => {
    tx.put(THING, 'a', aThing(2));
    tx.put(THING, 'a', aThing(1));
  });
  expect(commits()).toBe(1);
  // What is not stored yet is written once, for both.
  await Promise.all([put('a', 2), put('a', 2)]);
  expect(commits()).toBe(2);
  expect(await open(false).kernel.step((tx) => tx.get(THING, 'a')?.n)).toBe(2);
  await kernel.step((tx) => tx.append(THING, 'a', [1]));
  expect(commits()).toBe(3);
});

it('a ring has at most its newest records, and a sweep deletes the rows of the others', async () => {
  const { kernel, db, time } = fixture();
  const ring = { ...RING, max: 5 };
  for (let n = 0; n < 8; n++) await kernel.step((tx) => tx.log(ring, { id: `r${n}` }));
  const ids = async () => (await kernel.findRecords(ring, { limit: 10 })).map(({ id }) => id);
  expect(await ids()).toEqual(['r3', 'r4', 'r5', 'r6', 'r7']);
  expect(await kernel.write(() => kernel.records.sweep(ring, time.now, 100))).toBe(3);
  expect(db.prepare('SELECT count(*) FROM records').pluck().get()).toBe(5);
  expect(await kernel.unlog(ring, ({ id }) => id === 'r5')).toBe(1);
  expect(await ids()).toEqual(['r3', 'r4', 'r6', 'r7']);
  time.now += ring.retention_ms;
  expect(await ids()).toEqual([]);
});

it('stores the records of a large commit compressed, and finds and deletes them as the others', async () => {
  const { kernel, db, time } = fixture();
  const ring: Ring<{ id: string; text: string }> = { ...RING, ids: ({ id }) => [id] };
  const text = 'answered '.repeat(100);
  const log = (id: string) => kernel.step((tx) => tx.log(ring, { id, text }));
  await Promise.all(upTo(20).map(log));
  await log('alone');
  const size = db.prepare('SELECT sum(octet_length(records)) FROM records').pluck().get() as number;
  expect(size).toBeLessThan(3000);
  expect(await kernel.findRecords(ring, { id: 'k7', limit: 5 })).toEqual([{ id: 'k7', text }]);
  expect(await kernel.unlog(ring, ({ id }) => id === 'k7')).toBe(1);
  expect(await kernel.findRecords(ring, { id: 'k7', limit: 5 })).toEqual([]);
  expect(await kernel.findRecords(ring, { limit: 100 })).toHaveLength(20);
  time.now += ring.retention_ms;
  expect(await kernel.findRecords(ring, { limit: 100 })).toEqual([]);
});

it('claims of the daemon are only in memory, survive a failed commit, and are ended by a command', async () => {
  const { kernel, db, put, open, path } = fixture();
  const owner = await kernel.step((tx) => {
    const made = tx.newOwner();
    tx.put(CLAIM, 'c', { owner: made });
    return made;
  });
  expect(db.prepare('SELECT count(*) FROM journal').pluck().get()).toBe(0);
  db.pragma('query_only = ON');
  await expect(put('a')).rejects.toBeInstanceOf(StoreUnavailable);
  db.pragma('query_only = OFF');
  expect(await kernel.step((tx) => [tx.get(CLAIM, 'c')?.owner, tx.isDead?.(owner)])).toEqual([owner, false]);
  const next = open(true).kernel;
  expect(await next.step((tx) => [tx.get(CLAIM, 'c'), tx.isDead?.(owner)])).toEqual([null, true]);
  const command = open(false).kernel;
  await command.step((tx) => tx.delete(CLAIM, 'c'));
  await command.write(() => command.journal.empty(0));
  const reader = connectTo(path);
  expect(JSON.stringify(reader.prepare('SELECT changes, docs FROM journal').all())).not.toContain('"c"');
  expect(await kernel.step((tx) => tx.get(CLAIM, 'c'))).toBeNull();
});

it('claims expire by a clock that nobody sets', async () => {
  const clock = { wall: 1_000_000, steady: 5.25 };
  const { kernel } = fixture({ clock: { now: () => clock.wall, steady: () => clock.steady } });
  clock.wall += 3_600_000;
  clock.steady += 10;
  expect(await kernel.step(({ now, steady }) => [now, steady])).toEqual([4_600_000, 1_000_010]);
});

it('several steps are stored in one, or none of them', async () => {
  const { open, kernel, put } = fixture();
  await put('a', 1);
  const command = open(false).kernel;
  const failed = command.together(async () => {
    await command.step((tx) => tx.put(THING, 'a', aThing(2)));
    await command.step((tx) => tx.put(THING, 'b', aThing(2)));
    throw new RangeError('ended');
  });
  await expect(failed).rejects.toThrow('ended');
  expect(await kernel.step((tx) => [tx.get(THING, 'a')?.n, tx.get(THING, 'b')?.n])).toEqual([1, undefined]);
  await command.together(async () => {
    await command.step((tx) => tx.put(THING, 'a', aThing(3)));
    expect(await command.step((tx) => tx.get(THING, 'a')?.n)).toBe(3);
    await command.step((tx) => tx.delete(THING, 'b'));
  });
  expect(await kernel.step((tx) => tx.get(THING, 'a')?.n)).toBe(3);
});

it('a journal that grows too long is moved into the table, and deleted documents leave no row', async () => {
  const { kernel, db, put, time } = fixture({ journalBounds: { length: 500, bite: 32 } });
  for (let round = 0; round < 50; round++) await put(`k${round % 7}`, round);
  const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  expect(count('journal')).toBeLessThan(15);
  expect(count('docs')).toBe(7);
  await kernel.step((tx) => {
    for (let key = 0; key < 7; key++) tx.append(THING, `k${key}`, [1, 2]);
  });
  expect(count('items')).toBe(7);
  await kernel.step((tx) => {
    for (let key = 0; key < 7; key++) tx.delete(THING, `k${key}`);
  });
  await kernel.write(() => kernel.journal.shorten(0, 1000, time.now));
  expect([count('docs'), count('items'), count('journal')]).toEqual([0, 0, 1]);
});

it('a long journal is moved a few documents at a time, and its rows are deleted as fast as new ones come', async () => {
  const { db, put } = fixture(
    { journalBounds: { length: 2000, bite: 32 } },
    join(fastStateDirectory(), 'agentd.db'),
  );
  const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  let [moved, rows] = [0, 0];
  for (const key of upTo(300)) {
    await put(key);
    const [movedNow, rowsNow] = [count('docs'), count('journal')];
    expect(movedNow - moved).toBeLessThanOrEqual(32);
    expect(rows - rowsNow).toBeLessThanOrEqual(1);
    [moved, rows] = [movedNow, rowsNow];
  }
  expect(moved).toBeGreaterThan(200);
  expect(rows).toBeLessThan(100);
});

it('finds a document whose deletion was undone, although few documents of its kind are stored', async () => {
  const { kernel, put, time, open } = fixture();
  await put('a', 1);
  await kernel.write(() => kernel.journal.empty(time.now));
  const { kernel: other } = open(false);
  expect(await other.step((tx) => tx.get(THING, 'b'))).toBeNull();
  const failed = other.write(() => {
    other.documents.table.remove(1, THING.name, 'a');
    throw new Error('undone');
  });
  await expect(failed).rejects.toThrow('undone');
  expect((await other.step((tx) => tx.get(THING, 'a')))?.n).toBe(1);
});

it('does not search the table in vain for documents that are new', async () => {
  const { kernel, put, time, open } = fixture();
  for (const key of upTo(3)) await put(key);
  await kernel.write(() => kernel.journal.empty(time.now));
  const { kernel: other, db } = open(false);
  await other.step((tx) => tx.get(THING, 'another'));
  await ioPhase();
  // A key that the table got behind the back of the kernel, on its own connection, is not seen.
  const hash = hashOf(THING.name, 'unknown');
  db.prepare("UPDATE docs SET key = 'unknown', key_hash = ? WHERE key = 'k0'").run(hash);
  expect(await other.step((tx) => tx.get(THING, 'unknown'))).toBeNull();
});

it('reads the end of a long list once', async () => {
  const { kernel, db, put } = fixture({}, join(fastStateDirectory(), 'agentd.db'));
  const long: Kind<Thing, string> = { ...THING, item: 'text' };
  const item = (n: number) => String(n).padEnd(1000);
  const twenty = (from: number) => Array.from({ length: 20 }, (_, n) => item(from + n));
  await put('a');
  for (let n = 0; n < 600; n += 20) await kernel.step((tx) => tx.append(long, 'a', twenty(n)));
  const lastTwo = () => kernel.step((tx) => tx.items(long, 'a', -2));
  expect(await lastTwo()).toEqual([item(598), item(599)]);
  // The kernel does not see what is written behind its back, on its own connection.
  db.prepare("UPDATE items SET items = '[]'").run();
  expect(await lastTwo()).toEqual([item(598), item(599)]);
  await kernel.step((tx) => tx.append(long, 'a', [item(600)]));
  expect(await lastTwo()).toEqual([item(599), item(600)]);
});

it('a document that another process has moved out of the journal can be deleted, created again and changed', async () => {
  const { kernel, open, put, stored, time } = fixture();
  const { kernel: command } = open(false, {});
  const empty = (of: SqliteKernel) => of.write(() => of.journal.empty(time.now));
  const putIn = (group: string | null) => kernel.step((tx) => tx.put(THING, 'b', aThing(1, { group })));
  const inGroup = (of: SqliteKernel) =>
    of.step((tx) => [tx.first(THING, 'group x', 9).map(({ key }) => key), tx.count(THING, 'group x')]);
  await put('a');
  await putIn('x');
  await empty(command);

  // The daemon has written no row of the table, but the table has one.
  await kernel.step((tx) => tx.delete(THING, 'a'));
  await empty(kernel);
  expect(await stored()).toEqual(['b']);

  // The row has left the index and comes back, so it is not as the daemon left it.
  await putIn(null);
  await empty(command);
  await putIn('x');
  await empty(kernel);
  expect(await inGroup(kernel)).toEqual([['b'], 1]);
  expect(await inGroup(open(false, {}).kernel)).toEqual([['b'], 1]);

  // The daemon has written a row that the table no longer has.
  await kernel.step((tx) => tx.delete(THING, 'b'));
  await empty(command);
  await putIn('x');
  await empty(kernel);
  expect(await stored()).toEqual(['b']);
});

it('a claim that was taken after a command ended the one before it survives a failed commit', async () => {
  const { kernel, db, open } = fixture();
  const claim = (owner: string) => kernel.step((tx) => tx.put(CLAIM, 'c', { owner }));
  const command = open(false).kernel;
  await claim('first');
  await command.step((tx) => tx.delete(CLAIM, 'c'));
  expect(await kernel.step((tx) => tx.get(CLAIM, 'c'))).toBeNull();
  await claim('second');
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  const big = kernel.step((tx) => tx.put(THING, 'a', aThing(0, { group: 'x'.repeat(90_000) })));
  await expect(big).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await kernel.step((tx) => tx.get(CLAIM, 'c')?.owner)).toBe('second');
});

it('a claim that is taken between a step and its commit is kept when another process has written meanwhile', async () => {
  const { kernel, path } = fixture();
  await kernel.step((tx) => tx.put(CLAIM, 'c', { owner: 'one' }));
  const other = connectTo(path);
  other.exec('BEGIN IMMEDIATE');
  const end = kernel.step((tx) => {
    tx.put(THING, 'a', aThing(1));
    if (tx.get(CLAIM, 'c')?.owner === 'one') tx.delete(CLAIM, 'c');
  });
  const take = kernel.step(
    (tx) => {
      if (tx.get(CLAIM, 'c') !== null) return false;
      tx.put(CLAIM, 'c', { owner: 'two' });
      return true;
    },
    { onlyClaims: true },
  );
  const taken = await take;
  other.exec(`INSERT INTO journal (serial, changes, docs) VALUES (1, '[]', ''); COMMIT`);
  await end;
  expect([taken, await kernel.step((tx) => tx.get(CLAIM, 'c')?.owner)]).toEqual([true, 'two']);
});

it('a claim that was taken again is neither written to the disk nor ended by what a command did before', async () => {
  const { kernel, db, open, put, time } = fixture();
  const owner = () => kernel.step((tx) => tx.get(CLAIM, 'c')?.owner);
  const command = open(false).kernel;
  await command.step((tx) => tx.put(CLAIM, 'c', { owner: 'command' }));
  await command.write(() => command.journal.empty(time.now));
  await command.step((tx) => tx.delete(CLAIM, 'c'));
  expect(await owner()).toBeUndefined();
  await kernel.step((tx) => tx.put(CLAIM, 'c', { owner: 'daemon' }));
  await put('a');
  await command.write(() => command.journal.empty(time.now));
  expect(await owner()).toBe('daemon');
  await kernel.write(() => kernel.journal.empty(time.now));
  expect(db.prepare(`SELECT doc FROM docs WHERE kind = 'claim'`).all()).toEqual([]);
});

it('the daemon learns that a claim was ended, even if a command moves its journal twice meanwhile', async () => {
  const { kernel, open, time } = fixture();
  const command = open(false).kernel;
  await kernel.step((tx) => tx.put(CLAIM, 'c', { owner: 'daemon' }));
  await command.step((tx) => tx.delete(CLAIM, 'c'));
  for (let n = 0; n < 2; n++) await command.write(() => command.journal.empty(time.now));
  expect(await kernel.step((tx) => tx.get(CLAIM, 'c'))).toBeNull();
});

it('a process that knows an expired document does not delete rows that others have after it', async () => {
  const { kernel, open, time, put } = fixture();
  const command = open(false).kernel;
  const putWithItem = (key: string, item: number, ends_at: number | null) =>
    kernel.step((tx) => {
      tx.put(THING, key, aThing(1, { ends_at }));
      tx.append(THING, key, [item]);
    });
  await putWithItem('a', 1, time.now + 10);
  await kernel.write(() => kernel.journal.empty(time.now));
  expect(await command.step((tx) => tx.items(THING, 'a'))).toEqual([1]);
  time.now += 10;
  expect(await kernel.write(() => kernel.journal.deleteExpired(10, time.now))).toBe(1);
  await putWithItem('b', 2, null);
  await command.step((tx) => tx.put(THING, 'a', aThing(2)));
  await put('c');
  expect(await open(false).kernel.step((tx) => tx.items(THING, 'b'))).toEqual([2]);
});

it('a document that expired, was swept and then put anew has no place in the indexes that it had before', async () => {
  const { kernel, open, time, put } = fixture();
  const command = open(false).kernel;
  await kernel.step((tx) => tx.put(THING, 'a', aThing(1, { group: 'x', ends_at: time.now + 10 })));
  await kernel.write(() => kernel.journal.empty(time.now));
  const keys = () => command.step((tx) => tx.first(THING, 'group x', 9).map(({ key }) => key));
  const count = () => command.step((tx) => tx.count(THING, 'group x'));
  expect(await count()).toBe(1);
  time.now += 10;
  expect(await kernel.write(() => kernel.journal.deleteExpired(10, time.now))).toBe(1);
  await put('a');
  expect([await count(), await keys()]).toEqual([0, []]);
});

it('a document has one row, also if two processes move it out of the journal', async () => {
  const { kernel, put, open, db } = fixture({ journalBounds: { length: 2000, bite: 32 } });
  // The journal becomes a little too long only for whoever has not begun to move it.
  for (let n = 0; n < 40; n++) await put(`old${n}`, n);
  await Promise.all(upTo(300).map((key) => put(key)));
  const command = open(false).kernel;
  await command.step((tx) => tx.put(THING, 'by the command', aThing(1)));
  for (let n = 0; n < 100; n++) await put('again', n);
  await Promise.all(upTo(300).map((key) => kernel.step((tx) => tx.delete(THING, key))));
  for (let n = 0; n < 100; n++) await put('again', n);
  const rows = db.prepare('SELECT key, count(*) AS rows FROM docs GROUP BY key HAVING rows > 1').all();
  expect(rows).toEqual([]);
  const { kernel: later } = open(false, {});
  for (const key of upTo(300)) expect(await later.step((tx) => tx.get(THING, key))).toBeNull();
});

/** A command changes documents, and moves some of them into the table, while all their rows are still in the journal. */
async function changeAndMove(command: SqliteKernel, thing: Partial<Thing>) {
  const put = (key: string, more: Partial<Thing> = {}) =>
    command.step((tx) => tx.put(THING, key, aThing(1, { ...thing, ...more })));
  for (const key of upTo(10)) await put(key);
  await put('long', { wide: 'z'.repeat(5000) });
  for (let n = 0; n < 10; n++) await put('again', { n });
}

it('deleted documents stay deleted if the daemon had looked for them before a command put them', async () => {
  const { kernel, put, open, db, time } = fixture({ journalBounds: { length: 3000, bite: 1 } });
  await Promise.all(upTo(20).map((key) => put(`old ${key}`)));
  await Promise.all(upTo(10).map((key) => kernel.step((tx) => tx.delete(THING, key))));
  await changeAndMove(open(false).kernel, {});
  await Promise.all(upTo(10).map((key) => kernel.step((tx) => tx.delete(THING, key))));
  await kernel.write(() => kernel.journal.empty(time.now));
  expect(db.prepare("SELECT key FROM docs WHERE key GLOB 'k*'").pluck().all()).toEqual([]);
});

it('a document that a command has changed and moved has no old place in an index', async () => {
  const { kernel: command, put, db, time, open } = fixture({ journalBounds: { length: 3000, bite: 1 } });
  for (const key of upTo(20)) await put(`old ${key}`);
  for (const key of upTo(10)) await command.step((tx) => tx.put(THING, key, aThing(1, { group: 'x' })));
  await command.write(() => command.journal.empty(time.now));
  await Promise.all(upTo(20).map((key) => put(`old ${key}`, 1)));
  // Otherwise the command would delete this row first, and the daemon would read everything anew.
  db.exec("DELETE FROM journal WHERE changes = '[]'");
  const daemon = open(false).kernel;
  const count = (group: string) => daemon.step((tx) => tx.count(THING, `group ${group}`));
  expect(await count('x')).toBe(10);
  await changeAndMove(command, { group: 'y' });
  expect([await count('x'), await count('y')]).toEqual([0, 12]);
});

it('a document without a place in the order of its index is refused, and hides no other', async () => {
  const { kernel, put } = fixture();
  const broken = kernel.step((tx) => tx.put(THING, 'broken', aThing(Number.NaN, { group: 'g' })));
  await expect(broken).rejects.toThrow('a place of thing is NaN');
  await put('k1');
  expect(await kernel.step((tx) => tx.get(THING, 'broken'))).toBeNull();
});

it('a document that ends at no whole millisecond is refused, and keeps no other from being stored', async () => {
  const { kernel, put, stored, time } = fixture({ journalBounds: { length: 3000, bite: 1 } });
  const broken = aThing(1, { ends_at: time.now + 10.5 });
  const refused = kernel.step((tx) => tx.put(THING, 'broken', broken)).then(() => 'stored', String);
  for (const key of upTo(20)) await put(key);
  await kernel.write(() => kernel.journal.empty(time.now));
  expect(await refused).toContain('the document thing expires at');
  expect(await stored()).toEqual(upTo(20).sort());
});
