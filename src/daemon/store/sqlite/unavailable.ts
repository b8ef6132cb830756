import Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';

/**
 * What the surroundings do to a database: disk full, unreadable, read-only, busy, damaged. All other codes
 * are defects of the program and stay what they are.
 */
const ENVIRONMENT = /^SQLITE_(?:FULL|IOERR|READONLY|BUSY|LOCKED|CANTOPEN|CORRUPT|NOTADB|PERM|NOMEM)(?:_|$)/;

/** Whether a failure says that the store is out of reach, rather than that the program is wrong. */
export function isEnvironmentFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && ENVIRONMENT.test(error.code);
}

/** The failure as the store's callers meet it: `StoreUnavailable` for the environment, else unchanged. */
export function asStoreFailure(error: unknown): unknown {
  return isEnvironmentFailure(error) ? new StoreUnavailable(error) : error;
}
