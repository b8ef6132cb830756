import type Database from 'better-sqlite3';

/** Maximum number of pages that one commit moves. It limits how long the event loop is blocked. */
const BITE_PAGES = 500;

/** Number of free pages that are kept in the file for new rows if enough disk space is left. */
const SPARE_PAGES = 4000;

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
