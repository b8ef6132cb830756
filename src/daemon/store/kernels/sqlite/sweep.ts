import type Database from 'better-sqlite3';
import type { Clock } from '../../../time/clock.ts';
import type { Reserve, Volume } from '../../disk.ts';
import type { Ring } from '../kernel.ts';
import type { Checkpoints } from './checkpoints.ts';
import { emptyLog } from './database.ts';
import type { DiskSpace } from './disk-space.ts';
import type { SqliteKernel } from './kernel.ts';
import { isOutOfSpace, retrying } from './unavailable.ts';

/** Maximum number of rows that a sweep deletes. It limits how long the event loop is blocked. */
const BITE = 500;
/** Changes that are older than this are moved out of the journal, ms. */
const JOURNAL_AGE_MS = 20_000;
/** Maximum number of pages that one commit moves. It limits how long the event loop is blocked. */
const BITE_PAGES = 500;
/** Number of free pages that are kept in the file for new rows if enough disk space is left. */
const SPARE_PAGES = 4000;

interface SweepParts {
  db: Database.Database;
  clock: Clock;
  kernel: SqliteKernel;
  rings: readonly Ring<never>[];
  volume: Volume;
  space: DiskSpace;
  /** Null if this process has no reserve. */
  reserve: Reserve | null;
  /** Null if only SQLite moves the log. */
  checkpoints: Checkpoints | null;
}

/** Deletes expired data, even on a full disk, and returns the space to the file system. */
export class Sweep {
  readonly #parts: SweepParts;
  #running: Promise<number> = Promise.resolve(0);
  #closed = false;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /**
   * Deletes one batch. Only one sweep runs at a time.
   * @returns the number of deleted rows or returned pages; 0 if nothing remains to be done.
   */
  run(): Promise<number> {
    const next = this.#running.then(
      () => this.#sweep(),
      () => this.#sweep(),
    );
    this.#running = next;
    return next;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#parts.reserve?.close();
    await this.#running.catch(() => undefined);
  }

  async #sweep(): Promise<number> {
    if (this.#closed) return 0;
    const { db, kernel, volume, space, checkpoints } = this.#parts;
    const deleted = await this.#deleteExpired();
    const short = this.#isShortOfSpace();
    // Each batch makes the log longer, so on a full disk the log is emptied after each batch.
    if (short) await retrying(() => kernel.withoutReading(() => space.emptyLog()));
    if (deleted > 0) return deleted;
    const returned = await kernel.write(() => returnFreePages(db, short ? 0 : SPARE_PAGES));
    await kernel.withoutReading(() => checkpoints?.shorten());
    await retrying(() => kernel.withoutReading(() => space.emptyLog()));
    volume.askAgain();
    if (returned > 0) return returned;
    await this.#makeReserve();
    return 0;
  }

  /**
   * Deletes one batch of expired rows. A deletion needs space in the log before it frees any. If there is none, the
   * commit releases the first part of the reserve. If that is not enough, the log is emptied, then the rest of the
   * reserve is released, and then fewer rows are deleted at once.
   */
  async #deleteExpired(): Promise<number> {
    const { db, kernel, reserve } = this.#parts;
    let bite = BITE;
    for (let attempt = 0; ; attempt++) {
      try {
        return await kernel.write(() => this.#deleteRows(bite));
      } catch (error) {
        if (!isOutOfSpace(error) || bite === 1) throw error;
        if (attempt === 1) reserve?.giveUp();
        if (attempt > 1) bite = Math.ceil(bite / 4);
        await retrying(() => kernel.withoutReading(() => emptyLog(db))).catch(passOverLackOfSpace);
      }
    }
  }

  /** Within a transaction: deletes at most this many rows, or moves as many documents out of the journal. */
  #deleteRows(bite: number): number {
    const { kernel, rings, clock } = this.#parts;
    const now = clock.now();
    let rows = kernel.journal.deleteExpired(bite, now);
    for (const ring of rings) if (rows < bite) rows += kernel.records.sweep(ring, now, bite - rows);
    return rows < bite ? rows + kernel.journal.shorten(JOURNAL_AGE_MS, bite - rows, now) : rows;
  }

  #isShortOfSpace(): boolean {
    const { kernel, volume, reserve } = this.#parts;
    return !volume.hasRoom() || isOutOfSpace(kernel.failure) || reserve?.made === false;
  }

  async #makeReserve(): Promise<void> {
    const { reserve, volume } = this.#parts;
    if (!reserve || reserve.made || !volume.hasRoom(reserve.bytes)) return;
    await reserve.make();
    volume.askAgain();
  }
}

/**
 * Within a commit: marks free pages to be returned to the file system, which gets them at the next checkpoint.
 * @param spare how many free pages are kept in the file.
 * @returns the number of returned pages.
 */
function returnFreePages(db: Database.Database, spare: number): number {
  const free = () => db.pragma('freelist_count', { simple: true }) as number;
  const before = free();
  if (before <= spare) return 0;
  db.pragma(`incremental_vacuum(${Math.min(BITE_PAGES, before - spare)})`);
  return before - free();
}

/** Ignores a lack of space: the database file may have to grow before the content of the log can be moved into it. */
function passOverLackOfSpace(error: unknown): void {
  if (!isOutOfSpace(error)) throw error;
}
