import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { StoreLocked } from '../../failures.ts';
import { createPrivateFile } from './database.ts';
import { asStoreFailure } from './unavailable.ts';

/**
 * Takes an operating system lock, so that only one daemon at a time uses a database. The lock is SQLite's own lock on a
 * small file next to the database, held as long as the process lives. The kernel releases it when the process ends, for
 * any reason, so there is no pid file that could become stale.
 * @param path the path of the database; the lock is the file `agentd.lock` in its directory.
 * @returns a function that releases the lock.
 * @throws StoreLocked immediately if another process holds the lock.
 */
export function takeLock(path: string): () => void {
  const unlock = lockFile(join(dirname(path), 'agentd.lock'));
  if (unlock === null) throw new StoreLocked(path);
  return unlock;
}

/** @returns a function that releases the lock; null if another process holds it. */
export function lockFile(path: string): (() => void) | null {
  createPrivateFile(path);
  let db: Database.Database | undefined;
  try {
    const held = new Database(path, { fileMustExist: true, timeout: 0 });
    db = held;
    // A journal file would need space, which a full disk does not have.
    held.pragma('journal_mode = MEMORY');
    held.exec('BEGIN EXCLUSIVE');
    return () => held.close();
  } catch (error) {
    db?.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw asStoreFailure(error);
  }
}
