import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Reserve, Volume } from '../../disk.ts';
import { emptyLog } from './database.ts';
import { isEnvironmentFailure, isOutOfSpace } from './unavailable.ts';

/** While there is no room for the reserve, the log is emptied as soon as it has this size, bytes. */
const LOG_BYTES = 1024 * 1024;

/** Makes room for writes on a full disk: releases the reserve and empties the log. */
export class DiskSpace {
  readonly #db: Database.Database;
  readonly #volume: Volume;
  readonly #reserve: Reserve | null;

  /** @param reserve null if this process has no reserve. */
  constructor(db: Database.Database, volume: Volume, reserve: Reserve | null) {
    this.#db = db;
    this.#volume = volume;
    this.#reserve = reserve;
  }

  /**
   * Called after a write found no space. Releases the first part of the reserve. The rest is kept for deletions, but it
   * is also released if the log cannot be moved into the database without it.
   * @returns whether the write can be tried again.
   */
  makeRoom(): boolean {
    const gaveUp = this.#reserve?.made === true && this.#reserve.giveUp();
    this.#volume.askAgain();
    // Data that a failed write added to the log file occupies space until the log is emptied.
    if (!this.#tryToEmptyLog() && gaveUp && this.#reserve?.giveUp()) this.#tryToEmptyLog();
    return gaveUp;
  }

  /**
   * Called after each commit. While there is no room for the reserve, this method keeps the log short. On a full disk,
   * a long log could not be moved into the database, and then nothing could be deleted.
   */
  afterCommit(): void {
    if (!this.#reserve || this.#reserve.made || this.#volume.hasRoom(this.#reserve.bytes)) return;
    const log = statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false });
    if (log !== undefined && log.size >= LOG_BYTES) this.#tryToEmptyLog();
  }

  /**
   * Empties the log. If there is not enough space to do so, releases the reserve and tries again.
   * @throws if the second attempt fails, too.
   */
  emptyLog(): void {
    try {
      emptyLog(this.#db);
    } catch (error) {
      if (!isOutOfSpace(error) || !this.makeRoom()) throw error;
      emptyLog(this.#db);
    }
  }

  /** @returns false if the environment prevented it. The sweep also empties the log, and reports such failures. */
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
