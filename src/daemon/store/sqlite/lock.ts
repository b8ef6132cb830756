import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { StoreLocked } from '../failures.ts';
import { createPrivateFile } from './database.ts';
import { asStoreFailure } from './unavailable.ts';

/**
 * Takes the operating system's lock that makes a daemon the only one on its database. It is SQLite's own
 * file lock, held on a small file beside the database for as long as the process lives, and the kernel
 * drops it with the process, whatever ends it: there is no pid file that could be stale.
 * @param path of the database; the lock is the file `agentd.lock` in its directory.
 * @returns how to give it back.
 * @throws StoreLocked where another process has it, at once.
 */
export function takeLock(path: string): () => void {
  const unlock = lockFile(join(dirname(path), 'agentd.lock'));
  if (unlock === null) throw new StoreLocked(path);
  return unlock;
}

/** @returns how to give the lock back; null: another process has it. */
export function lockFile(path: string): (() => void) | null {
  createPrivateFile(path);
  let db: Database.Database | undefined;
  try {
    const held = new Database(path, { fileMustExist: true, timeout: 0 });
    db = held;
    // A journal file would take space, which a full disk does not have.
    held.pragma('journal_mode = MEMORY');
    held.exec('BEGIN EXCLUSIVE');
    return () => held.close();
  } catch (error) {
    db?.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw asStoreFailure(error);
  }
}
