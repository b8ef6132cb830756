import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { StoreUnavailable } from '../../../errors.ts';
import { StoreDamaged } from '../../failures.ts';

/** How long a read or write waits while another process holds the lock of the database, ms. */
export const LOCK_WAIT_MS = 2000;
/** How often a blocked read or write tries again, ms. The event loop is free between attempts. */
export const LOCK_RETRY_MS = 25;

/**
 * Failures that the environment causes: full disk, unreadable, read-only, busy, damaged. Errors with any other code
 * mean a defect of the program, and are passed on unchanged.
 */
const ENVIRONMENT =
  /^SQLITE_(?:FULL|IOERR|READONLY|BUSY|LOCKED|PROTOCOL|CANTOPEN|CORRUPT|NOTADB|PERM|NOMEM)(?:_|$)/;

const BUSY = /^SQLITE_(?:BUSY|PROTOCOL)(?:_|$)/;

/** SQLite reports a full disk as FULL, but an exceeded quota or file size limit as a failed write. */
const NO_SPACE = /^SQLITE_(?:FULL|IOERR_WRITE|IOERR_SHMSIZE|IOERR_SHMMAP|IOERR_TRUNCATE|IOERR_FSYNC)$/;

/**
 * Codes that mean that nothing was written. After any other failure, including a failed sync, the data may already be
 * on the disk.
 */
const UNWRITTEN = /^SQLITE_(?:FULL|IOERR_WRITE)$/;

const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)(?:_|$)/;

/** Whether the environment caused a failure, and not a defect of the program. */
export function isEnvironmentFailure(error: unknown): boolean {
  return hasCode(error, ENVIRONMENT);
}

/** Whether another process holds the lock of the database. Nothing was written: the caller can try again. */
export function isBusy(error: unknown): boolean {
  return hasCode(error, BUSY);
}

/** Whether a write may have failed for lack of space. Also accepts the error of a store method. */
export function isOutOfSpace(error: unknown): boolean {
  return hasCode(error instanceof StoreUnavailable ? error.cause : error, NO_SPACE);
}

/** Whether a commit failed before all of its data was written, so that SQLite has undone the commit. */
export function isUnwritten(error: unknown): boolean {
  return hasCode(error, UNWRITTEN);
}

/** Whether a failure means that the file is not a database, or is damaged. */
export function isDamage(error: unknown): error is Error {
  return hasCode(error, DAMAGE);
}

function hasCode(error: unknown, codes: RegExp): error is Error {
  return error instanceof Database.SqliteError && codes.test(error.code);
}

/** Converts a failure of the environment to `StoreUnavailable`; returns any other error unchanged. */
export function asStoreFailure(error: unknown): unknown {
  if (isDamage(error)) return new StoreDamaged(error);
  return isEnvironmentFailure(error) ? new StoreUnavailable(error) : error;
}

/**
 * Works on the database now, outside of a transaction. While another process holds the lock, the work is tried again for
 * at most 2 s. Failures of the environment become `StoreUnavailable`.
 */
export async function retrying<R>(work: () => R): Promise<R> {
  const gives_up_at = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= gives_up_at) throw asStoreFailure(error);
    }
    await wait(LOCK_RETRY_MS);
  }
}
