import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { Checkpoints } from '../../../src/daemon/store/kernels/sqlite/checkpoints.ts';
import { CHECKPOINT_PAGES, openDatabase } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import { fastStateDirectory } from './state-directory.ts';

const PAGE = 4096;

function fixture() {
  const path = join(fastStateDirectory(), 'agentd.db');
  new Database(path).close();
  const db = openDatabase(path);
  db.pragma('busy_timeout = 0');
  db.exec('CREATE TABLE t (content BLOB)');
  const checkpoints = new Checkpoints(db);
  const insert = db.prepare('INSERT INTO t VALUES (zeroblob(?))');
  const write = (pages: number) => {
    db.exec('BEGIN IMMEDIATE');
    insert.run(pages * PAGE);
    checkpoints.beforeCommit();
    db.exec('COMMIT');
    checkpoints.afterCommit();
  };
  const progress = () => {
    const [{ log, checkpointed }] = db.pragma('wal_checkpoint(NOOP)') as [
      { log: number; checkpointed: number },
    ];
    return { log, checkpointed };
  };
  const logPages = () => statSync(`${path}-wal`).size / PAGE;
  /** Writes until a commit has moved the log. @returns the progress then */
  const fill = () => {
    for (let n = 0; n < 200; n++) {
      const before = progress();
      write(100);
      const after = progress();
      if (after.checkpointed > before.checkpointed) return after;
    }
    throw new Error('the log was never moved');
  };
  const close = async () => {
    await checkpoints.end();
    db.close();
    checkpoints.close();
  };
  return { path, db, checkpoints, write, progress, logPages, fill, close };
}

it('a long log is moved up to an earlier moment, then synced in another thread, and used anew', async () => {
  const { write, progress, fill, logPages, close } = fixture();
  for (let round = 0; round < 3; round++) {
    const moved = fill();
    expect(moved.checkpointed).toBeGreaterThanOrEqual(CHECKPOINT_PAGES);
    // SQLite does not wait for the disk, because the last commit is not moved yet.
    expect(moved.log).toBeGreaterThan(moved.checkpointed);
    // It would have to begin the log anew otherwise.
    write(1);
    expect(progress().log).toBeGreaterThan(moved.log);
    while (progress().log > CHECKPOINT_PAGES) {
      await nextTurn();
      write(1);
    }
    expect(progress().log).toBeLessThan(100);
  }
  expect(logPages()).toBeLessThan(1.5 * CHECKPOINT_PAGES);
  await close();
});

it('a commit that fails leaves nothing that keeps the log', async () => {
  const { db, checkpoints, write, fill, progress, close } = fixture();
  fill();
  while (progress().log > CHECKPOINT_PAGES) {
    await nextTurn();
    write(1);
  }
  while (progress().log < CHECKPOINT_PAGES + 800) {
    db.exec('BEGIN IMMEDIATE');
    db.prepare('INSERT INTO t VALUES (zeroblob(?))').run(100 * PAGE);
    db.exec('COMMIT');
  }
  for (let n = 0; n < 8; n++) checkpoints.afterCommit();
  db.exec('BEGIN IMMEDIATE');
  checkpoints.beforeCommit();
  db.exec('ROLLBACK');
  const [pinned] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
  checkpoints.release();
  const [released] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
  expect([pinned.busy, released.busy]).toEqual([1, 0]);
  await close();
});

it('the database can be closed while the disk is being waited for', async () => {
  const { path, fill, close } = fixture();
  fill();
  await close();
  expect(() => statSync(`${path}-wal`)).toThrow('ENOENT');
  const db = openDatabase(path);
  expect(db.pragma('quick_check', { simple: true })).toBe('ok');
  db.close();
});
