import { closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';
import { giveToOwner } from '../../give-to-owner.ts';
import { makePrivateDirectory } from '../../private-directory.ts';
import { StoreMissing } from '../failures.ts';
import { asStoreFailure } from './unavailable.ts';

/** How long the connection of a command waits for another process's write, ms. It blocks the command alone. */
const COMMAND_BUSY_MS = 5000;

/** The same for the daemon. It blocks the event loop, so the daemon waits by trying again (writer.ts). */
const DAEMON_BUSY_MS = 20;

/**
 * Pages in the log before they are moved into the database. Under load the same pages are written again and
 * again, so that moving them less often writes each of them less often; what is moved at once (16 MiB at
 * most) holds the event loop.
 */
const CHECKPOINT_PAGES = 4000;

/** The log file is cut back to this size after a burst, bytes. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/** Makes the directory (0700) and an empty file (0600) if they are missing; what exists stays as it is. */
export function createPrivateFile(path: string): void {
  try {
    makePrivateDirectory(dirname(path));
  } catch (error) {
    throw new StoreUnavailable(error);
  }
  try {
    // `wx`, since opening and closing an existing file would drop the locks that this process holds on it.
    closeSync(openSync(path, 'wx', 0o600));
    giveToOwner(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw new StoreUnavailable(error);
  }
}

/** @throws StoreMissing if there is no file; StoreUnavailable if that cannot be found out. */
export function expectFile(path: string): void {
  try {
    statSync(path);
  } catch (error) {
    const code = errorCode(error);
    throw code === 'ENOENT' || code === 'ENOTDIR' ? new StoreMissing(path) : new StoreUnavailable(error);
  }
}

/**
 * A connection to an existing file, set up for durability: write-ahead log, every commit synced to disk.
 * Deleted content is overwritten, so that the tokens of ended sessions do not linger in free pages.
 * @throws StoreUnavailable if it cannot be opened, or is no database.
 */
export function openDatabase(path: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    // Has an effect on an empty file only, before anything is written to it.
    db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    // The library's build opens an existing write-ahead database with NORMAL, which loses commits at power loss.
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    db.pragma('secure_delete = ON');
    // Not in temporary files, which would hold tokens in another place than the private one.
    db.pragma('temp_store = MEMORY');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
    return db;
  } catch (error) {
    db?.close();
    throw asStoreFailure(error);
  }
}

/** From now on a held lock blocks the event loop for 20 ms at most. */
export function keepEventLoopFree(db: Database.Database): void {
  db.pragma(`busy_timeout = ${DAEMON_BUSY_MS}`);
}

/**
 * Moves the content of the write-ahead log into the database and empties the log, so that deleted content is
 * gone from it too. Never waits: skipped while another connection reads.
 */
export function emptyLog(db: Database.Database): void {
  const timeout = db.pragma('busy_timeout', { simple: true });
  db.pragma('busy_timeout = 0');
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
