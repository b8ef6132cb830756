import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { giveToOwner } from '../../../files/make-directory.ts';
import { systemClock } from '../../../time/clock.ts';
import { endUnsent } from '../../actions/questions.ts';
import { RestoreRefused } from '../../failures.ts';
import { sync } from './backup.ts';
import { createDirectoryOf, emptyLog, openDatabase } from './database.ts';
import { SqliteKernel } from './kernel.ts';
import { layoutDifference } from './layout.ts';
import { takeLock } from './lock.ts';

/** Bytes. */
const COPIED_AT_ONCE = 1024 * 1024;

/**
 * Replaces the database at `path` with a copy of `file`. The copy is fully verified before anything is changed, and
 * replaces the database in one step: after a crash, there is either the old database or the new one. The replaced
 * database is kept next to the new one.
 * @returns the path of the replaced database; null if there was none.
 * @throws StoreLocked, RestoreRefused, StoreUnavailable
 */
export async function restoreSqliteStore(path: string, file: string): Promise<string | null> {
  createDirectoryOf(path);
  const unlock = takeLock(path);
  const copy = `${path}.restored`;
  try {
    copyPrivately(file, copy);
    verify(copy, file);
    await endActions(copy, file);
    return replace(path, copy);
  } finally {
    for (const left of [copy, `${copy}-wal`, `${copy}-shm`]) rmSync(left, { force: true });
    unlock();
  }
}

/**
 * Copies the file before it is verified, so that the verified data is the restored data even if somebody writes to the
 * file during the verification.
 */
function copyPrivately(file: string, copy: string): void {
  try {
    rmSync(copy, { force: true });
    withOpen(file, 'r', (from) =>
      withOpen(copy, 'wx', (to) => {
        copyContent(from, to);
        giveToOwner(to, dirname(copy));
        fsyncSync(to);
      }),
    );
  } catch (cause) {
    if (!existsSync(file)) throw new RestoreRefused(file, 'it does not exist', { cause });
    throw new RestoreRefused(file, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/**
 * Opens a file, or creates it with mode 0600 if the flags say so. Closes the file when the work is done or has failed.
 */
function withOpen(path: string, flags: 'r' | 'wx', work: (fd: number) => void): void {
  const fd = openSync(path, flags, 0o600);
  try {
    work(fd);
  } finally {
    closeSync(fd);
  }
}

function copyContent(from: number, to: number): void {
  const buffer = Buffer.alloc(COPIED_AT_ONCE);
  for (;;) {
    const read = readSync(from, buffer);
    if (read === 0) return;
    for (let written = 0; written < read; ) written += writeSync(to, buffer, written, read - written);
  }
}

function verify(copy: string, file: string): void {
  let db: Database.Database | undefined;
  try {
    db = new Database(copy, { fileMustExist: true, readonly: true });
    const difference = layoutDifference(db);
    if (difference !== null)
      throw new RestoreRefused(
        file,
        `it has another layout than the stores of this version of agentd: ${difference}`,
      );
    const [damage] = db.pragma('integrity_check(1)') as { integrity_check: string }[];
    if (damage?.integrity_check !== 'ok')
      throw new RestoreRefused(file, `it is damaged: ${damage?.integrity_check}`);
  } catch (cause) {
    if (cause instanceof RestoreRefused) throw cause;
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new RestoreRefused(file, `it cannot be read as a store: ${words}`, { cause });
  } finally {
    db?.close();
  }
}

/**
 * Ends the actions that the backup has not recorded as sent. They may have been carried out after it was made, and
 * neither an answer nor the repeated run of a message must carry them out again.
 */
async function endActions(copy: string, file: string): Promise<void> {
  let db: Database.Database | undefined;
  try {
    db = openDatabase(copy);
    const kernel = new SqliteKernel({ db, clock: systemClock, isDaemon: false });
    await endUnsent(kernel);
    await kernel.close();
    emptyLog(db);
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new RestoreRefused(file, `its copy cannot be prepared: ${words}`, { cause });
  } finally {
    db?.close();
  }
  sync(copy);
}

function replace(path: string, copy: string): string | null {
  if (!existsSync(path)) {
    renameSync(copy, path);
    sync(dirname(path));
    return null;
  }
  const kept = freeName(`${path}.before-restore`);
  moveLogIntoDatabase(path);
  linkSync(path, kept);
  // If the log could not be moved into the old database, it belongs to the replaced file. Next to the new database, it
  // would be read as a part of the new database.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`);
  rmSync(`${path}-shm`, { force: true });
  renameSync(copy, path);
  sync(dirname(path));
  return kept;
}

/**
 * The first name that is not taken. Stores that earlier restores replaced are kept: if an earlier restore used a wrong
 * file, the store that it replaced is the only copy of the live data.
 */
function freeName(name: string): string {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}-${number}`;
    if (![numbered, `${numbered}-wal`].some((taken) => existsSync(taken))) return numbered;
  }
}

/**
 * Moves the log of the old database into it. If the database is damaged, this is not possible, and the log is kept
 * unchanged.
 */
function moveLogIntoDatabase(path: string): void {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { fileMustExist: true });
    emptyLog(db);
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
  } finally {
    db?.close();
  }
}
