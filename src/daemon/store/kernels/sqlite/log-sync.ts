import { closeSync, fdatasync, openSync } from 'node:fs';
import Database from 'better-sqlite3';

/**
 * Syncs the write-ahead log after each commit without blocking the event loop: a thread of Node.js waits for the disk.
 * SQLite itself only writes to the log (`synchronous=NORMAL`). One sync stores everything that was committed before, in
 * its order. SQLite still syncs the log before it moves what is in it into the database
 * (https://sqlite.org/pragma.html#pragma_synchronous).
 *
 * Slow name lookups do not delay a sync, because they get at most half of the threads
 * (https://docs.libuv.org/en/v1.x/threadpool.html).
 */
export class LogSync {
  readonly #db: Database.Database;
  /** Null: SQLite syncs. */
  #log: number | null;

  /**
   * @param db the connection of the daemon, which has the log open already
   * @throws a system error if the log cannot be opened. Then SQLite syncs each commit.
   */
  constructor(db: Database.Database) {
    this.#db = db;
    // Not every system syncs a file that is open for reading only.
    this.#log = openSync(`${db.name}-wal`, 'r+');
    db.pragma('synchronous = NORMAL');
  }

  /**
   * Call this after each commit.
   * @returns null if the commit is on disk. Otherwise a promise that resolves when it is, and rejects with a
   * `SqliteError` if that is not known.
   */
  afterCommit(): Promise<void> | null {
    const log = this.#log;
    if (log === null) return null;
    return new Promise((resolve, reject) => {
      fdatasync(log, (error) => {
        if (error === null) return resolve();
        // The system may report a failure only once, so a later success does not prove that everything is on disk.
        this.#db.pragma('synchronous = FULL');
        this.close();
        reject(new Database.SqliteError(error.message, 'SQLITE_IOERR_FSYNC'));
      });
    });
  }

  /** Call this when the last commit is on disk. */
  close(): void {
    if (this.#log !== null) closeSync(this.#log);
    this.#log = null;
  }
}
