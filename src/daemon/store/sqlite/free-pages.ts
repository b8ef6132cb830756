import type Database from 'better-sqlite3';
import { isEnvironmentFailure } from './unavailable.ts';

/** `PRAGMA auto_vacuum`: the file shrinks when it is asked to. */
const INCREMENTAL = 2;

/** A larger database is not rewritten: SQLite holds the new one in memory meanwhile. */
const REWRITTEN_MAX_BYTES = 512 * 1024 * 1024;

/** Pages that are moved within one commit, at most: bounds how long it holds the event loop. */
const BITE_PAGES = 500;

/** Free pages that stay in the file for the next rows, unless space is short. */
const SPARE_PAGES = 4000;

/**
 * Rewrites a database that an earlier version made, so that its free pages can be returned to the file
 * system. One that cannot be rewritten works without that: its free pages are used again by its own rows.
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
 * Within a commit: returns free pages to the file system, which gets them at the next checkpoint.
 * @param spare how many stay in the file.
 * @returns how many were returned.
 */
export function returnFreePages(db: Database.Database, spare = SPARE_PAGES): number {
  const free = () => db.pragma('freelist_count', { simple: true }) as number;
  const before = free();
  if (before <= spare) return 0;
  db.pragma(`incremental_vacuum(${Math.min(BITE_PAGES, before - spare)})`);
  return before - free();
}
