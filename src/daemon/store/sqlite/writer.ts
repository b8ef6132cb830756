import type Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';
import { asStoreFailure, isEnvironmentFailure } from './unavailable.ts';

/** Writes in one transaction, at most: bounds how long one commit holds the event loop. */
const MAX_MEMBERS = 1000;

interface Member {
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

type Outcome = { ok: true; value: unknown } | { ok: false; error: unknown };

/**
 * The one writer of the database. All that is written within one turn of the event loop is committed
 * together, so that many callers share one sync of the disk; each caller's promise settles after the commit.
 *
 * A write that throws fails alone: its changes are undone, its neighbours' are kept. What the surroundings
 * do (disk full, read-only, busy) fails all of them with `StoreUnavailable`, nothing of them is kept, and
 * the next ones are tried afresh.
 */
export class GroupCommit {
  readonly #db: Database.Database;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  readonly #enter: Database.Statement;
  readonly #leave: Database.Statement;
  readonly #undo: Database.Statement;
  #waiting: Member[] = [];
  #closed = false;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
    this.#enter = db.prepare('SAVEPOINT member');
    this.#leave = db.prepare('RELEASE member');
    this.#undo = db.prepare('ROLLBACK TO member');
  }

  /**
   * Runs `work` in the next commit.
   * @param work synchronous; reads what earlier members of the same commit have written. It may be run a
   * second time, after the first was undone, so it changes nothing but the database.
   * @returns its result, once that is durable.
   */
  write<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable(new Error('the store is closed')));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ work, resolve, reject });
    if (this.#waiting.length === 1) this.#schedule();
    return promise as Promise<T>;
  }

  /** Commits what waits; later writes are rejected. */
  close(): void {
    this.#closed = true;
    while (this.#waiting.length > 0) this.#commitWaiting();
  }

  #schedule(): void {
    setImmediate(() => {
      this.#commitWaiting();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #commitWaiting(): void {
    const members = this.#waiting.splice(0, MAX_MEMBERS);
    if (members.length === 0) return;
    try {
      const outcomes = this.#tryTogether(members) ?? this.#tryEach(members);
      members.forEach((member, index) => {
        const outcome = outcomes[index];
        if (outcome?.ok) member.resolve(outcome.value);
        else member.reject(outcome?.error);
      });
    } catch (error) {
      const failure = new StoreUnavailable(error);
      for (const member of members) member.reject(failure);
    }
  }

  /** The usual case, that all succeed, without the cost of savepoints. Null, and nothing kept, where one fails. */
  #tryTogether(members: readonly Member[]): Outcome[] | null {
    return this.#transaction(() => {
      try {
        return members.map(({ work }) => ({ ok: true, value: work() }));
      } catch (error) {
        if (isEnvironmentFailure(error)) throw error;
        return null;
      }
    });
  }

  /** Undoes those that fail alone, and keeps the others. */
  #tryEach(members: readonly Member[]): Outcome[] {
    return this.#transaction(() => members.map((member) => this.#attempt(member)));
  }

  /** Commits what `work` has written, unless it returns null. @throws what fails all of it; nothing is kept. */
  #transaction<T extends Outcome[] | null>(work: () => T): T {
    this.#begin.run();
    try {
      const outcomes = work();
      if (outcomes) this.#commit.run();
      return outcomes;
    } finally {
      if (this.#db.inTransaction) this.#rollback.run();
    }
  }

  /** @throws what fails the whole commit. */
  #attempt(member: Member): Outcome {
    this.#enter.run();
    try {
      const value = member.work();
      this.#leave.run();
      return { ok: true, value };
    } catch (error) {
      // SQLite itself ends the transaction at some failures; then nothing of the others is left either.
      if (isEnvironmentFailure(error) || !this.#db.inTransaction) throw error;
      this.#undo.run();
      this.#leave.run();
      return { ok: false, error };
    }
  }
}

/** Runs a read now, on what is committed; failures of the surroundings become `StoreUnavailable`. */
export async function read<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    throw asStoreFailure(error);
  }
}
