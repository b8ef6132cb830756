import { renameSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import workers from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { Checkpoints, LONG_PAGES } from '../../../src/daemon/store/kernels/sqlite/checkpoints.ts';
import { CHECKPOINT_PAGES, openDatabase } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import { fastStateDirectory } from './state-directory.ts';

const PAGE = 4096;

function fixture() {
  const path = join(fastStateDirectory(), 'agentd.db');
  new Database(path).close();
  const db = openDatabase(path);
  db.pragma('busy_timeout = 0');
  db.exec('CREATE TABLE t (content BLOB)');
  const installed = `${path}.package`;
  writeFileSync(installed, 'old');
  const checkpoints = new Checkpoints(db, installed);
  const insert = db.prepare('INSERT INTO t VALUES (zeroblob(?))');
  const write = (pages: number) => {
    db.exec('BEGIN IMMEDIATE');
    insert.run(pages * PAGE);
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
  /** Writes until the log is so long that a commit has it moved. */
  const fill = () => {
    for (let left = 100; left > 0 && progress().log < LONG_PAGES + 800; left--) write(100);
  };
  const close = async () => {
    await checkpoints.end();
    db.close();
  };
  return { path, installed, db, checkpoints, write, progress, logPages, fill, close };
}

it('another thread moves a long log while this one writes on, and then the log is used anew', async () => {
  const { checkpoints, write, progress, fill, logPages, close } = fixture();
  for (let round = 0; round < 3; round++) {
    fill();
    const moved = checkpoints.shorten();
    write(1);
    await moved;
    expect(progress().checkpointed).toBeGreaterThanOrEqual(LONG_PAGES);
    // The first commit moves the rest, and the second one uses the log anew.
    write(1);
    write(1);
    expect(progress().log).toBeLessThan(100);
  }
  expect(logPages()).toBeLessThan(CHECKPOINT_PAGES);
  await close();
});

it('a log that is not short is moved on request, and a short one is left', async () => {
  const { checkpoints, write, progress, close } = fixture();
  write(100);
  await checkpoints.shorten();
  expect(progress().checkpointed).toBe(0);
  write(1000);
  await checkpoints.shorten();
  expect(progress().checkpointed).toBeGreaterThan(1000);
  await close();
});

it('if the thread cannot open the file, SQLite moves a log of twice the length', async () => {
  const { path, checkpoints, fill, write, progress, close } = fixture();
  renameSync(path, `${path}.elsewhere`);
  fill();
  await checkpoints.shorten();
  expect(progress().checkpointed).toBe(0);
  for (let left = 100; left > 0 && progress().checkpointed === 0; left--) write(100);
  expect(progress().checkpointed).toBeGreaterThan(0);
  renameSync(`${path}.elsewhere`, path);
  await close();
});

it('no thread loads another copy of SQLite that an upgrade has installed', async () => {
  const { installed, checkpoints, fill, progress, close } = fixture();
  writeFileSync(`${installed}.new`, 'new');
  renameSync(`${installed}.new`, installed);
  fill();
  await checkpoints.shorten();
  expect(progress().checkpointed).toBe(0);
  await close();
});

it('if the system allows no further thread, SQLite moves the log', async () => {
  const { fill, close } = fixture();
  const { Worker } = workers;
  workers.Worker = class extends Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      // The system has no thread for it.
      super(...args);
      void this.terminate();
      throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
    }
  };
  syncBuiltinESMExports();
  try {
    fill();
  } finally {
    workers.Worker = Worker;
    syncBuiltinESMExports();
  }
  await close();
});

it('the database can be closed although the thread could not open it', async () => {
  const { path, fill, close } = fixture();
  renameSync(path, `${path}.elsewhere`);
  fill();
  await close();
});

it('the database can be closed while the log is being moved', async () => {
  const { path, fill, close } = fixture();
  fill();
  await close();
  expect(() => statSync(`${path}-wal`)).toThrow('ENOENT');
  const db = openDatabase(path);
  expect(db.pragma('quick_check', { simple: true })).toBe('ok');
  db.close();
});
