import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Reserve } from '../reserve.ts';
import type { Volume } from '../volume.ts';
import { emptyLog } from './database.ts';
import { isEnvironmentFailure, isOutOfSpace } from './unavailable.ts';

/** Size of the log from which on it is emptied while there is no room for the reserve. */
const LOG_BYTES = 1024 * 1024;

/** Makes room for writes on a full disk: gives up the reserve and empties the log. */
export class DiskSpace {
  readonly #db: Database.Database;
  readonly #volume: Volume;
  readonly #reserve: Reserve | null;

  /** @param reserve null: this process keeps none. */
  constructor(db: Database.Database, volume: Volume, reserve: Reserve | null) {
    this.#db = db;
    this.#volume = volume;
    this.#reserve = reserve;
  }

  /**
   * Called after a write found no space. Gives up the first part of the reserve; the rest is left for deletions,
   * unless moving the log into the database takes it.
   * @returns whether the write can be tried again.
   */
  makeRoom(): boolean {
    const gaveUp = this.#reserve?.made === true && this.#reserve.giveUp();
    if (gaveUp) this.#volume.askAgain();
    // What a failed write added to the log file takes up space until the log is emptied.
    if (!this.#tryToEmptyLog() && gaveUp && this.#reserve?.giveUp()) this.#tryToEmptyLog();
    return gaveUp;
  }

  /**
   * Called after each commit. While there is no room for the reserve, the log is kept short: a long one could
   * not be moved into the database any more once the disk is full, and then nothing could be deleted either.
   */
  afterCommit(): void {
    if (!this.#reserve || this.#reserve.made || this.#volume.hasRoom(this.#reserve.bytes)) return;
    const log = statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false });
    if (log !== undefined && log.size >= LOG_BYTES) this.#tryToEmptyLog();
  }

  /** Empties the log; if there is no space for that, gives up the reserve first. @throws if both fail. */
  emptyLog(): void {
    try {
      emptyLog(this.#db);
    } catch (error) {
      if (!isOutOfSpace(error) || !this.makeRoom()) throw error;
      emptyLog(this.#db);
    }
  }

  /** The sweep empties the log as well, and reports why it could not. */
  #tryToEmptyLog(): boolean {
    try {
      emptyLog(this.#db);
      return true;
    } catch (error) {
      if (!isEnvironmentFailure(error)) throw error;
      return false;
    }
  }
}
