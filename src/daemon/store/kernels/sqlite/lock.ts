import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { StoreLocked } from '../../failures.ts';
import { createPrivateFile } from './database.ts';
import { asStoreFailure } from './unavailable.ts';

function lockPath(path: string): string {
  return join(dirname(path), 'agentd.lock');
}

/**
 * Takes an operating system lock, so that only one daemon at a time uses a database. The lock is SQLite's own lock on a
 * small file next to the database, held as long as the process lives. The kernel releases it when the process ends, for
 * any reason, so there is no pid file that could become stale.
 * @param path the path of the database; the lock is the file `agentd.lock` in its directory.
 * @returns a function that releases the lock.
 * @throws StoreLocked immediately if another process holds the lock.
 */
export function takeLock(path: string): () => void {
  const unlock = lockFile(lockPath(path));
  if (unlock === null) throw new StoreLocked(path);
  return unlock;
}

/** How long a probe of the lock may take, ms. */
const PROBE_MS = 100;

/** Whether a daemon uses the database at this path. @throws StoreUnavailable */
export function isLocked(path: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = new Database(lockPath(path), { readonly: true, fileMustExist: true, timeout: 0 });
    db.prepare('SELECT 1 FROM sqlite_master').get();
    return false;
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    if (error.code.startsWith('SQLITE_BUSY')) return true;
    if (error.code === 'SQLITE_CANTOPEN') return false;
    throw asStoreFailure(error);
  } finally {
    db?.close();
  }
}

/** @returns a function that releases the lock; null if another process holds it. */
export function lockFile(path: string): (() => void) | null {
  createPrivateFile(path);
  let db: Database.Database | undefined;
  try {
    // `isLocked` holds it for a moment.
    const held = new Database(path, { fileMustExist: true, timeout: PROBE_MS });
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
