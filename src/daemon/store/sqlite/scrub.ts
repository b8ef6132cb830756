import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { sync } from './backup.ts';
import { asStoreFailure, isBusy } from './unavailable.ts';

/** How long to wait until another process stops using the database, ms. */
const WAIT_MS = 60_000;
const RETRY_MS = 100;
/** The largest database that SQLite rebuilds in memory, bytes. It rebuilds a larger one in an unnamed file. */
const IN_MEMORY_BYTES = 512 * 1024 * 1024;

/**
 * Removes deleted content from the files of a database: from its pages, which may contain copies of moved cells, and
 * from its log. Deletes the copies of the database that were made before a migration or a restore.
 */
export async function scrub(db: Database.Database): Promise<void> {
  deleteCopies(db.name);
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  const isLarge = number('page_count') * number('page_size') > IN_MEMORY_BYTES;
  if (isLarge) db.pragma('temp_store = DEFAULT');
  try {
    await whenFree(() => {
      db.exec('VACUUM');
      return true;
    });
  } finally {
    if (isLarge) db.pragma('temp_store = MEMORY');
  }
  await whenFree(() => {
    const [{ busy } = { busy: 1 }] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return busy === 0;
  });
}

/**
 * Deletes backups such as `agentd.db.schema-9.backup`, the stores that a restore replaced, with their logs, and
 * incomplete copies after a crash.
 */
function deleteCopies(path: string): void {
  const directory = dirname(path);
  const copies = ['schema-', 'before-restore', 'restored'].map((word) => `${basename(path)}.${word}`);
  for (const name of readdirSync(directory))
    if (copies.some((copy) => name.startsWith(copy))) rmSync(join(directory, name), { force: true });
  sync(directory);
}

/**
 * Repeats the attempt until it succeeds. @throws StoreUnavailable if another process holds a lock for too long, and an
 * `Error` if another process reads for too long.
 */
async function whenFree(attempt: () => boolean): Promise<void> {
  const gives_up_at = performance.now() + WAIT_MS;
  for (;;) {
    try {
      if (attempt()) return;
      if (performance.now() >= gives_up_at) throw new Error('another process is reading the database');
    } catch (error) {
      if (!isBusy(error) || performance.now() >= gives_up_at) throw asStoreFailure(error);
    }
    await wait(RETRY_MS);
  }
}
