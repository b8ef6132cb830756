import { closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreUnavailable } from '../../../errors.ts';
import { giveDirectoryToOwner, giveToOwner, makePrivateDirectory } from '../../../files/make-directory.ts';
import { StoreMissing } from '../../failures.ts';
import { asStoreFailure } from './unavailable.ts';

/** How long a command waits while another process writes, ms. It blocks only the command. */
const COMMAND_BUSY_MS = 5000;

/**
 * How long the daemon waits while another process writes, ms. Waiting blocks the event loop, so the daemon retries
 * instead (`CommitSchedule`).
 */
const DAEMON_BUSY_MS = 20;

/**
 * When the log has this many pages, they are moved into the database (16 MiB). Under load, the same pages are written
 * again and again, so moving them less often saves writes.
 */
export const CHECKPOINT_PAGES = 4000;

/** The size to which the log file is truncated after a burst, bytes. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/** What SQLite answers for `auto_vacuum = INCREMENTAL`. */
const INCREMENTAL = 2;

/**
 * Creates the directory of a database (0700) if it is missing. An existing directory is not changed. If root creates it,
 * it is given to the owner of the directory above.
 * @throws StoreUnavailable
 */
export function createDirectoryOf(path: string): void {
  try {
    makePrivateDirectory(dirname(path), giveDirectoryToOwner);
  } catch (error) {
    throw new StoreUnavailable(error);
  }
}

/** Creates the directory, as `createDirectoryOf` does, and in the same way an empty file (0600). */
export function createPrivateFile(path: string): void {
  createDirectoryOf(path);
  try {
    // `wx` fails if the file exists. Opening and closing an existing file would drop the locks that this process holds
    // on it.
    createOwnedFile(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw new StoreUnavailable(error);
  }
}

/** Creates an empty file (0600) that belongs to the owner of its directory. @throws EEXIST if it exists. */
export function createOwnedFile(path: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    giveToOwner(file, dirname(path));
  } finally {
    closeSync(file);
  }
}

/** @throws StoreMissing if there is no file; StoreUnavailable if this cannot be determined. */
export function expectFile(path: string): void {
  try {
    statSync(path);
  } catch (error) {
    const code = errorCode(error);
    throw code === 'ENOENT' || code === 'ENOTDIR' ? new StoreMissing(path) : new StoreUnavailable(error);
  }
}

/**
 * Opens an existing file with durable settings: a write-ahead log, and every commit synced to disk. Deleted content is
 * overwritten, so that the tokens of ended sessions do not stay in free pages.
 * @throws StoreUnavailable if the file cannot be opened or is not a database.
 */
export function openDatabase(path: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    // Has an effect only on an empty file, before anything is written to it. On other files it would wait for the lock
    // of another process that writes, and a command that only reads would fail.
    if (db.pragma('auto_vacuum', { simple: true }) !== INCREMENTAL) db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    // By default, this build of SQLite uses NORMAL for an existing database with a write-ahead log, which can lose
    // commits in a power failure.
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    db.pragma('secure_delete = ON');
    // Temporary files would contain tokens outside of the private directory.
    db.pragma('temp_store = MEMORY');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
    return db;
  } catch (error) {
    db?.close();
    throw asStoreFailure(error);
  }
}

/** From now on, a lock of another process blocks the event loop for at most `DAEMON_BUSY_MS`. */
export function keepEventLoopFree(db: Database.Database): void {
  db.pragma(`busy_timeout = ${DAEMON_BUSY_MS}`);
}

/**
 * Moves the content of the write-ahead log into the database and empties the log, so that deleted content disappears
 * from the log, too. Never waits: while another connection reads, the log may not be emptied.
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
