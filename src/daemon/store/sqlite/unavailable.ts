import Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';
import { StoreDamaged } from '../failures.ts';

/**
 * What the surroundings do to a database: disk full, unreadable, read-only, busy, damaged. All other codes
 * are defects of the program and stay what they are.
 */
const ENVIRONMENT = /^SQLITE_(?:FULL|IOERR|READONLY|BUSY|LOCKED|CANTOPEN|CORRUPT|NOTADB|PERM|NOMEM)(?:_|$)/;

const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)(?:_|$)/;

/** Whether a failure says that the store is out of reach, rather than that the program is wrong. */
export function isEnvironmentFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && ENVIRONMENT.test(error.code);
}

/** Whether a failure says that what is in the file is no database, or is one no more. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && DAMAGE.test(error.code);
}

/** The failure as the store's callers meet it: `StoreUnavailable` for the environment, else unchanged. */
export function asStoreFailure(error: unknown): unknown {
  if (isDamage(error)) return new StoreDamaged(error);
  return isEnvironmentFailure(error) ? new StoreUnavailable(error) : error;
}
