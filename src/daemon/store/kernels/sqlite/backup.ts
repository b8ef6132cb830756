import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { BackupFailed } from '../../failures.ts';
import { createOwnedFile } from './database.ts';
import { asStoreFailure, isDamage } from './unavailable.ts';

const UNFINISHED = '.new';

/**
 * Copies a database with all commits into a file that must not exist yet, with mode 0600. After a crash, the copy is
 * either complete or absent.
 * @throws BackupFailed, StoreDamaged; no partial file remains.
 */
export function copyTo(db: Database.Database, file: string): void {
  try {
    if (existsSync(file)) throw new Error('the file exists');
    writeCopy(db, file);
  } catch (error) {
    throw isDamage(error) ? asStoreFailure(error) : new BackupFailed(file, error);
  }
  noteBackup(db);
}

/** When a copy of the database was last completed, ms since the epoch; 0 if there was none. */
export function lastBackupAt(db: Database.Database): number {
  return statSync(notePath(db), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** An empty file next to the database, whose time is that of the last backup. */
function notePath({ name }: Database.Database): string {
  return `${name}.last-backup`;
}

/** Replaces the note by a new file: the daemon's user could not change one that root made. */
function noteBackup(db: Database.Database): void {
  const note = notePath(db);
  try {
    rmSync(note, { force: true });
    createOwnedFile(note);
  } catch {
    // The copy is complete. It is needed most when the disk of the store is full or has become read-only.
  }
}

function writeCopy(db: Database.Database, path: string): void {
  const unfinished = path + UNFINISHED;
  try {
    rmSync(unfinished, { force: true });
    // SQLite would create the file with the mode that the umask allows.
    closeSync(openSync(unfinished, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(unfinished);
    sync(unfinished);
    renameSync(unfinished, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Syncs a file to disk or, for a directory, the names of its files. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
