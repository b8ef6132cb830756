import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { LogSync } from '../../../src/daemon/store/kernels/sqlite/log-sync.ts';
import { fastStateDirectory } from './state-directory.ts';

/** A connection whose log is a file of any kind. */
function fixture(makeLog: (path: string) => void) {
  const name = join(fastStateDirectory(), 'agentd.db');
  makeLog(`${name}-wal`);
  const pragmas: string[] = [];
  const db = { name, pragma: (text: string) => pragmas.push(text) } as unknown as Database.Database;
  return { db, pragmas };
}

it('a commit is on disk after a sync of the log, which SQLite leaves to it', async () => {
  const { db, pragmas } = fixture((path) => writeFileSync(path, ''));
  const sync = new LogSync(db);
  for (let commit = 0; commit < 3; commit++) expect(await sync.afterCommit()).toBeUndefined();
  expect(pragmas).toEqual(['synchronous = NORMAL']);
  sync.close();
});

it('a commit that could not be synced is reported, and from then on SQLite syncs', async () => {
  // fdatasync(2) fails with EINVAL.
  const { db, pragmas } = fixture((path) => symlinkSync('/dev/null', path));
  const sync = new LogSync(db);
  await expect(sync.afterCommit()).rejects.toMatchObject({
    code: 'SQLITE_IOERR_FSYNC',
    message: expect.stringContaining('EINVAL'),
  });
  expect(sync.afterCommit()).toBeNull();
  expect(pragmas).toEqual(['synchronous = NORMAL', 'synchronous = FULL']);
  sync.close();
});

it('SQLite syncs if the log cannot be opened', () => {
  const { db, pragmas } = fixture(() => undefined);
  expect(() => new LogSync(db)).toThrow('ENOENT');
  expect(pragmas).toEqual([]);
});
