import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { CHECKPOINT_PAGES } from './database.ts';
import { isEnvironmentFailure } from './unavailable.ts';

/** After so many commits, the length of the log is looked up. */
const LOOK_EACH = 8;
/**
 * The thread moves a log of so many pages. When SQLite would move it, there must still be room in the reserve for all of
 * it (disk.ts): on a full disk, a longer log could not be moved at all, and nothing could be deleted.
 */
export const LONG_PAGES = CHECKPOINT_PAGES / 2;
/** Moving so many pages blocks the event loop for a few milliseconds at most. */
const SHORT_PAGES = 500;

/** A file that an upgrade replaces together with SQLite. */
const PACKAGE = createRequire(import.meta.url).resolve('better-sqlite3/package.json');

/**
 * Moves the write-ahead log into the database (https://sqlite.org/wal.html#ckpt) without blocking the event loop for
 * long: another thread moves a long log, and waits for the disk. It has a connection of its own, and commits go on
 * meanwhile. What they write is moved here afterwards, because SQLite uses the log anew only if nothing of it is left. If
 * all this does not succeed, for example on a full disk, SQLite moves a log of twice the length within a commit
 * (`CHECKPOINT_PAGES`).
 */
export class Checkpoints {
  readonly #path: string;
  readonly #package: string;
  /** The file of the package when this process loaded SQLite. */
  readonly #loaded: string | null;
  readonly #statements;
  #commits = 0;
  /** Null until it is needed. */
  #thread: Worker | null = null;
  /** Whether the thread has ended or could not start. Then SQLite moves the log. */
  #hasEnded = false;
  #moving: PromiseWithResolvers<void> | null = null;
  #isRestDue = false;

  /**
   * @param db the connection of the daemon
   * @param file `PACKAGE` except in tests
   */
  constructor(db: Database.Database, file = PACKAGE) {
    this.#path = db.name;
    this.#package = file;
    this.#loaded = identify(file);
    this.#statements = {
      look: db.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)'),
      move: db.prepare('PRAGMA wal_checkpoint(PASSIVE)'),
    };
  }

  /** Call this after a commit, when the connection of the daemon does not read. */
  afterCommit(): void {
    if (this.#moving !== null) return;
    this.#trying(() => {
      if (this.#isRestDue) {
        this.#isRestDue = false;
        this.#statements.move.get();
      } else if (++this.#commits % LOOK_EACH === 0) this.#moveIfLonger(LONG_PAGES);
    });
  }

  /**
   * Call this when the connection of the daemon does not read. Resolves when the log is so short that it can be moved at
   * once, or cannot be made shorter.
   */
  async shorten(): Promise<void> {
    if (this.#moving === null) this.#trying(() => this.#moveIfLonger(SHORT_PAGES));
    await this.#moving?.promise;
  }

  /** Ends the thread, once it has done what is under way. */
  async end(): Promise<void> {
    if (this.#thread === null || this.#hasEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    // The event `error` may come before it.
    this.#thread.once('exit', () => resolve());
    this.#thread.ref();
    this.#thread.postMessage('end');
    await promise;
  }

  #moveIfLonger(pages: number): void {
    if (this.#hasEnded) return;
    const { log = 0, checkpointed = 0 } = this.#statements.look.get() ?? {};
    if (log < pages || checkpointed === log) return;
    this.#thread ??= this.#startThread();
    if (this.#thread === null) return;
    this.#moving = Promise.withResolvers();
    this.#thread.ref();
    this.#thread.postMessage('move');
  }

  /**
   * @returns null if the system allows no further thread, or if the thread would load another copy of SQLite: the locks
   * of two copies in one process are not respected (https://sqlite.org/howtocorrupt.html, 2.2.1).
   */
  #startThread(): Worker | null {
    if (identify(this.#package) !== this.#loaded) {
      this.#hasEnded = true;
      return null;
    }
    let thread: Worker;
    try {
      thread = new Worker(new URL('checkpoint-thread.js', import.meta.url), { workerData: this.#path });
    } catch {
      this.#hasEnded = true;
      return null;
    }
    thread.on('message', (outcome) => {
      this.#isRestDue = outcome === 'moved';
      this.#finish();
    });
    // For example because it could not open the file.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      this.#hasEnded = true;
      this.#finish();
    });
    return thread;
  }

  /** The log stays as it is after a failure of the environment, and is moved later. */
  #trying(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isEnvironmentFailure(error)) throw error;
    }
  }

  #finish(): void {
    this.#thread?.unref();
    this.#moving?.resolve();
    this.#moving = null;
  }
}

/** Names a file; null if there is none. A file that replaces it has another name. */
function identify(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : [found.dev, found.ino, found.ctimeMs].join();
}
