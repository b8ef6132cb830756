import type Database from 'better-sqlite3';

/** Thrown by a read of the file after another process has written. */
export const OUTDATED = new Error('another process has written');

/** Keeps all that is read from the file at one moment, that of the version which the memory has. */
export class Reads {
  readonly #db: Database.Database;
  readonly #statements;
  /** Whether this process has looked for what other processes have written. */
  #hasLooked = false;
  /** The version of the file that the memory has; null if the memory has none. */
  seen: number | null = null;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#statements = {
      begin: db.prepare('BEGIN'),
      end: db.prepare('ROLLBACK'),
      version: db.prepare<[], number>('PRAGMA data_version').pluck(),
    };
  }

  /** The version of the file; it changes with each commit of another connection. */
  get version(): number {
    return this.#statements.version.get() ?? 0;
  }

  /**
   * Whether the memory has all that other processes have written. One look serves all that runs until the event loop
   * gives this process something new: until then, nothing here can know of a later write.
   */
  isUpToDate(): boolean {
    if (this.#hasLooked) return true;
    this.#look();
    return this.version === this.seen;
  }

  begin(): void {
    this.#statements.begin.run();
  }

  /** The next read is of a new moment. */
  end(): void {
    if (this.#hasLooked && this.#db.inTransaction) this.#statements.end.run();
    this.#hasLooked = false;
  }

  /** Call this before the tables are read. @throws OUTDATED */
  beforeRead(): void {
    if (this.#db.inTransaction) return;
    if (!this.#hasLooked) this.#look();
    this.begin();
    if (this.version !== this.seen) throw OUTDATED;
  }

  #look(): void {
    this.#hasLooked = true;
    // Microtasks run until none is left, and only then this tick.
    queueMicrotask(() => process.nextTick(() => this.end()));
  }
}
