import type Database from 'better-sqlite3';
import type { Reserve } from '../reserve.ts';
import type { Volume } from '../volume.ts';
import { emptyLog } from './database.ts';
import type { DiskSpace } from './disk-space.ts';
import { returnFreePages } from './free-pages.ts';
import { isOutOfSpace } from './unavailable.ts';
import { type GroupCommit, read } from './writer.ts';

/** Maximum number of rows that a sweep deletes. It limits how long the event loop is blocked. */
const BITE = 500;

/** A part of the store whose rows expire. */
export interface Expiring {
  /** Within a commit: deletes at most `bite` expired rows. @returns the number of deleted rows. */
  deleteExpired(bite: number): number;
}

export interface SweepParts {
  db: Database.Database;
  commit: GroupCommit;
  volume: Volume;
  space: DiskSpace;
  /** Null if this process has no reserve. */
  reserve: Reserve | null;
}

/** Deletes expired data, even on a full disk, and returns the space to the file system. */
export class Sweep {
  readonly #expiring: readonly Expiring[];
  readonly #parts: SweepParts;
  #running: Promise<number> = Promise.resolve(0);
  #closed = false;

  constructor(expiring: readonly Expiring[], parts: SweepParts) {
    this.#expiring = expiring;
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
    const { db, commit, volume, space } = this.#parts;
    const deleted = await this.#deleteExpired();
    const short = this.#isShortOfSpace();
    // Each batch makes the log longer, so on a full disk the log is emptied after each batch.
    if (short) await read(() => space.emptyLog());
    if (deleted > 0) return deleted;
    const returned = await commit.write(() => returnFreePages(db, short ? 0 : undefined));
    await read(() => space.emptyLog());
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
    const { db, commit, reserve } = this.#parts;
    let bite = BITE;
    for (let attempt = 0; ; attempt++) {
      try {
        return await commit.write(() =>
          this.#expiring.reduce((sum, part) => sum + part.deleteExpired(bite - sum), 0),
        );
      } catch (error) {
        if (!isOutOfSpace(error) || bite === 1) throw error;
        if (attempt === 1) reserve?.giveUp();
        if (attempt > 1) bite = Math.ceil(bite / 4);
        await read(() => emptyLog(db)).catch(passOverLackOfSpace);
      }
    }
  }

  #isShortOfSpace(): boolean {
    const { commit, volume, reserve } = this.#parts;
    return !volume.hasRoom() || isOutOfSpace(commit.failure) || reserve?.made === false;
  }

  async #makeReserve(): Promise<void> {
    const { reserve, volume } = this.#parts;
    if (!reserve || reserve.made || !volume.hasRoom(reserve.bytes)) return;
    await reserve.make();
    volume.askAgain();
  }
}

/** Ignores a lack of space: the database file may have to grow before the content of the log can be moved into it. */
function passOverLackOfSpace(error: unknown): void {
  if (!isOutOfSpace(error)) throw error;
}
