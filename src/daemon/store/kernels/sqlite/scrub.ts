import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { FilesNotRewritten } from '../../persons/persons.ts';
import { sync } from './backup.ts';
import { isBusy } from './unavailable.ts';

/** How long to wait until another process stops using the database, ms. */
const WAIT_MS = 60_000;
const RETRY_MS = 100;
const ADVICE =
  'End the process that uses the database, such as a backup program, or make room on the disk. Then run the command again.';
/** The largest database that SQLite rebuilds in memory, bytes. It rebuilds a larger one in an unnamed file. */
const IN_MEMORY_BYTES = 512 * 1024 * 1024;

/**
 * Removes deleted content from the files of a database: from its pages, which may contain copies of moved cells, and
 * from its log. Deletes the copies of the database that a restore has made.
 * @param wait_ms how long to wait until no other process uses the database.
 * @throws FilesNotRewritten
 */
export async function scrub(db: Database.Database, wait_ms = WAIT_MS): Promise<void> {
  try {
    deleteCopies(db.name);
    await rewrite(db, wait_ms);
  } catch (error) {
    throw new FilesNotRewritten((error as Error).message, ADVICE);
  }
}

async function rewrite(db: Database.Database, wait_ms: number): Promise<void> {
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  const isLarge = number('page_count') * number('page_size') > IN_MEMORY_BYTES;
  if (isLarge) db.pragma('temp_store = DEFAULT');
  try {
    await whenFree(() => {
      db.exec('VACUUM');
      return true;
    }, wait_ms);
  } finally {
    if (isLarge) db.pragma('temp_store = MEMORY');
  }
  await whenFree(() => {
    const [{ busy } = { busy: 1 }] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return busy === 0;
  }, wait_ms);
}

/** Deletes the stores that a restore replaced, with their logs, and incomplete copies after a crash. */
function deleteCopies(path: string): void {
  const directory = dirname(path);
  const copies = ['before-restore', 'restored'].map((word) => `${basename(path)}.${word}`);
  for (const name of readdirSync(directory))
    if (copies.some((copy) => name.startsWith(copy))) rmSync(join(directory, name), { force: true });
  sync(directory);
}

/** Repeats the attempt until it succeeds. Rejects if another process uses the database for too long. */
async function whenFree(attempt: () => boolean, wait_ms: number): Promise<void> {
  const gives_up_at = performance.now() + wait_ms;
  for (;;) {
    try {
      if (attempt()) return;
      if (performance.now() >= gives_up_at) throw new Error('another process is reading the database');
    } catch (error) {
      if (!isBusy(error) || performance.now() >= gives_up_at) throw error;
    }
    await wait(RETRY_MS);
  }
}
