import type Database from 'better-sqlite3';
import { isEnvironmentFailure } from './unavailable.ts';

/** The value of `PRAGMA auto_vacuum` for a file that shrinks on request. */
const INCREMENTAL = 2;

/** The largest database that is rewritten, bytes. SQLite builds the new database in memory. */
const REWRITTEN_MAX_BYTES = 512 * 1024 * 1024;

/** Maximum number of pages that one commit moves. It limits how long the event loop is blocked. */
const BITE_PAGES = 500;

/** Number of free pages that are kept in the file for new rows if enough disk space is left. */
const SPARE_PAGES = 4000;

/**
 * Rewrites the database of an earlier version, so that its free pages can be returned to the file system. A database
 * that cannot be rewritten still works: it uses its free pages for new rows.
 */
export function makeShrinkable(db: Database.Database): void {
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  if (number('auto_vacuum') === INCREMENTAL) return;
  if (number('page_count') * number('page_size') > REWRITTEN_MAX_BYTES) return;
  try {
    db.pragma('auto_vacuum = INCREMENTAL');
    db.exec('VACUUM');
  } catch (error) {
    if (!isEnvironmentFailure(error)) throw error;
  }
}

/**
 * Within a commit: marks free pages to be returned to the file system, which gets them at the next checkpoint.
 * @param spare how many free pages are kept in the file.
 * @returns the number of returned pages.
 */
export function returnFreePages(db: Database.Database, spare = SPARE_PAGES): number {
  const free = () => db.pragma('freelist_count', { simple: true }) as number;
  const before = free();
  if (before <= spare) return 0;
  db.pragma(`incremental_vacuum(${Math.min(BITE_PAGES, before - spare)})`);
  return before - free();
}
