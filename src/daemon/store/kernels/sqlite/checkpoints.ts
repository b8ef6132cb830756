import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { CHECKPOINT_PAGES } from './database.ts';
import { isEnvironmentFailure } from './unavailable.ts';

/** After so many commits, the length of the log is looked up. */
const LOOK_EACH = 8;

const dataOnDisk = promisify(fdatasync);

interface Progress {
  /** How many pages the log has, and how many of them are in the database. */
  log: number;
  checkpointed: number;
}

/**
 * Moves the write-ahead log into the database (https://sqlite.org/wal.html#ckpt) without blocking the event loop for
 * long. SQLite would do it within a commit, and wait until thousands of pages are on the disk. As long as a reader sees
 * an earlier moment, however, it only writes the pages up to that moment and does not wait. Then the disk is waited for
 * in another thread, and SQLite has only a short rest to write and to wait for. It does not use the log anew before it
 * has done that itself, so nothing depends on the thread. If this does not succeed, for example on a full disk, SQLite
 * moves a log of twice the length within a commit.
 */
export class Checkpoints {
  readonly #reader: Database.Database;
  /** Closing it would drop the locks that this process holds on the file, so it stays open as long as the database. */
  #file: number | null;
  readonly #statements;
  #commits = 0;
  #isDue = false;
  #syncing: Promise<void> | null = null;
  #isRestDue = false;

  /** @param db the connection of the daemon */
  constructor(db: Database.Database) {
    this.#reader = new Database(db.name, { readonly: true });
    this.#file = openSync(db.name, 'r');
    this.#statements = {
      look: db.prepare<[], Progress>('PRAGMA wal_checkpoint(NOOP)'),
      move: db.prepare('PRAGMA wal_checkpoint(PASSIVE)'),
      begin: this.#reader.prepare('BEGIN'),
      read: this.#reader.prepare('SELECT 1 FROM sqlite_schema LIMIT 1'),
      end: this.#reader.prepare('ROLLBACK'),
    };
    db.pragma(`wal_autocheckpoint = ${2 * CHECKPOINT_PAGES}`);
  }

  /** Call this within a transaction, right before it is committed. */
  beforeCommit(): void {
    if (!this.#isDue || this.#reader.inTransaction) return;
    this.#trying(() => {
      this.#statements.begin.run();
      this.#statements.read.get();
    });
  }

  /** Call this after a commit, when the connection of the daemon does not read. */
  afterCommit(): void {
    if (this.#syncing === null) this.#trying(() => this.#advance());
  }

  #advance(): void {
    if (this.#reader.inTransaction) {
      this.#isDue = false;
      this.#statements.move.get();
      this.#syncing = this.#sync(this.#file as number);
    } else if (this.#isRestDue) {
      this.#isRestDue = false;
      this.#statements.move.get();
    } else if (++this.#commits % LOOK_EACH === 0) {
      const { log = 0, checkpointed = 0 } = this.#statements.look.get() ?? {};
      this.#isDue = log >= CHECKPOINT_PAGES && checkpointed < log;
    }
  }

  /** Call this after a commit has failed. */
  release(): void {
    if (this.#reader.inTransaction) this.#statements.end.run();
  }

  /** Ends what is under way. */
  async end(): Promise<void> {
    await this.#syncing;
    this.#reader.close();
  }

  /** Call this after the database was closed. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  async #sync(file: number): Promise<void> {
    // If the disk fails, SQLite reports it: it waits for the disk, too.
    await dataOnDisk(file).catch(() => undefined);
    this.release();
    this.#syncing = null;
    this.#isRestDue = true;
  }

  /** The log stays as it is after a failure of the environment, and is moved later. */
  #trying(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isEnvironmentFailure(error)) throw error;
      this.release();
    }
  }
}
