import { join } from 'node:path';
import { setImmediate as ioPhase } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { GroupCommit } from '../../../src/daemon/store/sqlite/writer.ts';
import { stateDirectory } from './state-directory.ts';

interface Fixture {
  db: Database.Database;
  commit: GroupCommit;
  /** All executed statements. */
  statements: string[];
  insert(x: number): Promise<number>;
  /** The committed data, which another connection sees. */
  stored(): number[];
}

function fixture(): Fixture {
  const path = join(stateDirectory(), 'x.db');
  const statements: string[] = [];
  const db = new Database(path, { timeout: 0, verbose: (sql) => statements.push(String(sql)) });
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE numbers (x INTEGER UNIQUE, filler BLOB)');
  const reader = new Database(path);
  onTestFinished(() => {
    db.close();
    reader.close();
  });
  const commit = new GroupCommit(db);
  const insert = db.prepare<[number]>('INSERT INTO numbers VALUES (?, zeroblob(3000))');
  return {
    db,
    commit,
    statements,
    insert: (x) =>
      commit.write(() => {
        insert.run(x);
        return x;
      }),
    stored: () => reader.prepare('SELECT x FROM numbers ORDER BY x').pluck().all() as number[],
  };
}

const upTo = (n: number) => Array.from({ length: n }, (_, index) => index);

it('the group commit commits all writes of one tick of the event loop together, and only then resolves them', async () => {
  const { insert, statements, stored } = fixture();
  const writes = upTo(100).map(insert);
  expect(stored()).toEqual([]);
  expect(await writes[0]).toBe(0);
  expect(stored()).toEqual(upTo(100));
  expect(await Promise.all(writes)).toEqual(upTo(100));
  expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1);
});

it('the group commit includes writes that arrive a moment later, and waits for them at most as long as the last commit took', async () => {
  const { commit, insert, statements } = fixture();
  const commits = () => statements.filter((sql) => sql === 'COMMIT').length;
  let slow_ms = 200;
  commit.keep({
    save() {
      for (const until = performance.now() + slow_ms; performance.now() < until; );
    },
  });
  await insert(0);
  slow_ms = 0;
  const first = insert(1);
  await ioPhase();
  const second = insert(2);
  await Promise.all([first, second]);
  expect(commits()).toBe(2);

  // The last commit was fast, so the next commit does not wait.
  const third = insert(3);
  await ioPhase();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([third, insert(4)]);
  expect(commits()).toBe(4);
});

it('one slow commit does not make the group commit delay later writes for long', async () => {
  const { commit, insert } = fixture();
  let slow_ms = 1000;
  commit.keep({
    save() {
      for (const until = performance.now() + slow_ms; performance.now() < until; );
    },
  });
  await insert(0);
  slow_ms = 0;
  let isCommitted = false;
  const first = insert(1).then(() => {
    isCommitted = true;
  });
  // A write arrives at each tick of the event loop. A tick takes 2 ms or more, so at most 25 arrive within 50 ms.
  const others: Promise<unknown>[] = [];
  for (let x = 2; !isCommitted; x++) {
    others.push(insert(x));
    for (const until = performance.now() + 2; performance.now() < until; );
    await ioPhase();
  }
  await Promise.all([first, ...others]);
  expect(others.length).toBeLessThan(50);
});

it('the group commit rejects and undoes only the write that throws, and keeps the other writes of the commit', async () => {
  const { commit, insert, stored, db } = fixture();
  const other = db.prepare('INSERT INTO numbers VALUES (77, NULL)');
  const results = await Promise.allSettled([
    insert(1),
    insert(1),
    commit.write(() => {
      other.run();
      throw new RangeError('a defect');
    }),
    insert(2),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { code: 'SQLITE_CONSTRAINT_UNIQUE' } });
  expect(results[2]).toMatchObject({ reason: new RangeError('a defect') });
  expect(stored()).toEqual([1, 2]);
});

it('the group commit limits the number of writes in one commit, and stores the others with the next commits, in order', async () => {
  const { commit, statements } = fixture();
  const order: number[] = [];
  await Promise.all(upTo(2500).map((n) => commit.write(() => order.push(n))));
  expect(order).toEqual(upTo(2500));
  expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(3);
});

it('the group commit rejects all writes with StoreUnavailable while the database is full, stores none, and works again when there is room', async () => {
  const { db, insert, stored } = fixture();
  await insert(0);
  db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 2}`);
  const results = await Promise.allSettled(upTo(10).map((n) => insert(n + 1)));
  for (const result of results) {
    expect(result).toMatchObject({ reason: { code: 'unavailable', cause: { code: 'SQLITE_FULL' } } });
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(StoreUnavailable);
  }
  expect(db.inTransaction).toBe(false);
  expect(stored()).toEqual([0]);

  db.pragma('max_page_count = 1000000');
  expect(await insert(1)).toBe(1);
  expect(stored()).toEqual([0, 1]);
});

it('the group commit rejects with StoreUnavailable while another connection writes, and works again afterwards', async () => {
  const { db, insert, stored } = fixture();
  const other = new Database(db.name);
  other.exec('BEGIN IMMEDIATE');
  const refused = await insert(1).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailable);
  expect(refused).toMatchObject({
    message: 'The store cannot be reached at the moment.',
    cause: { code: 'SQLITE_BUSY' },
  });
  other.exec('COMMIT');
  other.close();
  await insert(1);
  expect(stored()).toEqual([1]);
});

it('the group commit rejects with StoreUnavailable on a read-only database', async () => {
  const { db, insert } = fixture();
  db.pragma('query_only = ON');
  await expect(insert(1)).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'SQLITE_READONLY' } });
  db.pragma('query_only = OFF');
  expect(await insert(1)).toBe(1);
});

it('the group commit commits waiting writes when it is closed, and refuses later writes', async () => {
  const { commit, insert, stored } = fixture();
  const writes = upTo(3).map(insert);
  commit.close();
  expect(stored()).toEqual([0, 1, 2]);
  await Promise.all(writes);
  await expect(insert(4)).rejects.toBeInstanceOf(StoreUnavailable);
});

it('the group commit loads its in-memory state before the first use, and again after another connection has written or a transaction was undone', async () => {
  const { db, commit, insert } = fixture();
  const numbers = db.prepare('SELECT x FROM numbers ORDER BY x').pluck();
  const held = {
    loads: 0,
    unsaved: 0,
    numbers: [] as unknown[],
    load() {
      this.loads++;
      this.numbers = numbers.all();
    },
    save() {
      this.unsaved = 0;
    },
  };
  commit.keep(held);
  await insert(1);
  await commit.write(() => held.unsaved++);
  expect(held).toMatchObject({ loads: 1, unsaved: 0, numbers: [] });

  const other = new Database(db.name);
  other.exec('INSERT INTO numbers VALUES (2, NULL)');
  other.close();
  expect(await commit.read(() => held.numbers)).toEqual([1, 2]);
  await insert(3);
  expect(held.loads).toBe(2);

  await expect(insert(3)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_UNIQUE' });
  expect(await commit.read(() => held.numbers)).toEqual([1, 2, 3]);
  expect(held.loads).toBe(3);
});

it('the group commit rejects all writes and reloads its in-memory state if that state cannot be saved', async () => {
  const { db, commit, insert, stored } = fixture();
  let full = true;
  let loads = 0;
  commit.keep({
    load: () => loads++,
    save() {
      if (full) db.pragma('query_only = ON');
      db.exec('CREATE TABLE saved (x)');
    },
  });
  await expect(Promise.all([insert(1), insert(2)])).rejects.toBeInstanceOf(StoreUnavailable);
  expect(stored()).toEqual([]);
  full = false;
  db.pragma('query_only = OFF');
  await insert(1);
  expect(loads).toBe(2);
});

/** A list of numbers that is changed in memory before it is written. */
function decided({ db, commit }: Fixture) {
  const held = {
    numbers: [] as unknown[],
    unsaved: [] as number[],
    load() {
      this.unsaved = [];
      this.numbers = db.prepare('SELECT x FROM numbers ORDER BY x').pluck().all();
    },
    save() {
      for (const x of this.unsaved) db.prepare('INSERT INTO numbers VALUES (?, NULL)').run(x);
      this.unsaved = [];
    },
  };
  commit.keep(held);
  const decide = (x: number) =>
    commit.decide(() => {
      held.numbers.push(x);
      held.unsaved.push(x);
      return held.numbers.length;
    });
  return { held, decide };
}

it('the group commit returns decisions at once, and stores them in one commit with the writes that follow', async () => {
  const all = fixture();
  const { insert, statements, stored, commit } = all;
  const { decide } = decided(all);
  expect(await Promise.all([decide(1), decide(2)])).toEqual([1, 2]);
  expect(stored()).toEqual([]);
  await insert(3);
  expect(stored()).toEqual([1, 2, 3]);
  expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1);
  await decide(4);
  await commit.flush();
  expect(stored()).toEqual([1, 2, 3, 4]);
  await commit.close();
  await expect(decide(5)).rejects.toBeInstanceOf(StoreUnavailable);
});

it('the group commit repeats decisions if another process writes before they are stored', async () => {
  const all = fixture();
  const { decide, held } = decided(all);
  expect(await decide(1)).toBe(1);
  const other = new Database(all.db.name);
  other.exec('INSERT INTO numbers VALUES (7, NULL)');
  other.close();
  expect(await decide(2)).toBe(3);
  expect(held.numbers).toEqual([7, 1, 2]);
  await all.commit.flush();
  expect(all.stored()).toEqual([1, 2, 7]);
});

it('the group commit keeps decisions if a write in the same commit fails, and stores them with the next commit if a commit fails', async () => {
  const all = fixture();
  const { decide } = decided(all);
  await all.insert(1);
  await decide(2);
  await expect(all.insert(1)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_UNIQUE' });
  expect(all.stored()).toEqual([1, 2]);

  await decide(3);
  all.db.pragma('query_only = ON');
  await expect(all.insert(4)).rejects.toBeInstanceOf(StoreUnavailable);
  const waits = decide(5);
  await expect(waits).rejects.toBeInstanceOf(StoreUnavailable);
  all.db.pragma('query_only = OFF');
  expect(await decide(6)).toBe(4);
  expect(all.stored()).toEqual([1, 2, 3, 6]);
});

it('the group commit waits for the lock of another process before it decides, and makes each decision once', async () => {
  const all = fixture();
  const { decide, held } = decided(all);
  let busy = 0;
  const { load } = held;
  held.load = () => {
    if (busy-- > 0) throw new Database.SqliteError('database is locked', 'SQLITE_BUSY_RECOVERY');
    load.call(held);
  };
  expect(await decide(1)).toBe(1);
  await all.commit.flush();
  // Another process has written, so the state in memory is read again.
  const other = new Database(all.db.name);
  other.exec('INSERT INTO numbers VALUES (7, NULL)');
  other.close();
  busy = 2;
  expect(await Promise.all([decide(8), decide(9)])).toEqual([3, 4]);
  await all.commit.flush();
  expect(all.stored()).toEqual([1, 7, 8, 9]);
});

it('if the disk is full, the group commit keeps its decisions and retries the commit when there is room', async () => {
  const all = fixture();
  let isFull = true;
  const db = new Proxy(all.db, {
    get: (target, member) => {
      if (member === 'inTransaction') return target.inTransaction;
      if (member !== 'prepare') return Reflect.get(target, member).bind(target);
      return (sql: string) =>
        sql === 'COMMIT' ? { run: () => commitOf(target.prepare(sql)) } : target.prepare(sql);
    },
  });
  const commitOf = (statement: Database.Statement) => {
    if (isFull) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
    return statement.run();
  };
  const makeRoom = () => {
    isFull = false;
    return true;
  };
  const commit = new GroupCommit(db, { makeRoom, afterCommit: () => undefined });
  const { decide } = decided({ ...all, db, commit });
  expect(await decide(1)).toBe(1);
  await commit.flush();
  expect(all.stored()).toEqual([1]);
});
