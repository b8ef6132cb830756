import { setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';
import type { DiskSpace } from './disk-space.ts';
import { asStoreFailure, isBusy, isEnvironmentFailure, isOutOfSpace, isUnwritten } from './unavailable.ts';

/** Writes in one transaction, at most: bounds how long one commit holds the event loop. */
const MAX_MEMBERS = 1000;

/** How long a read or write waits while another process holds the lock of the database, ms. */
const LOCK_WAIT_MS = 2000;
/** How often it tries again, ms. The event loop is free in between. */
const LOCK_RETRY_MS = 25;

/** What a part of the store holds in memory. Its changes are made by writes, and undone with them. */
export interface Resident {
  /**
   * Reads what it copies from the disk, and forgets what is not saved. Called before the next use if another process
   * has written, or if a transaction was undone: so the copy is as current as a query.
   */
  load?(): void;
  /** Within a transaction: writes what its members have changed. */
  save?(): void;
  /** The transaction is durable. */
  committed?(): void;
  /** The transaction was undone. */
  undone?(): void;
}

interface Member {
  /** By `performance.now()`, which nobody can set. */
  since: number;
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The outcome of members that were tried together: the value of each, or the one that failed, and why. */
type Outcome = { values: unknown[] } | { failed: Member; error: unknown };

/**
 * The one writer of the database. Everything that is written within one tick of the event loop is committed
 * together, so that many callers share one sync of the disk; each caller's promise settles after the commit.
 *
 * A write that throws fails alone: its changes are undone, those of its neighbors are kept. A failure of the
 * environment (disk full, read-only) rejects all of them with `StoreUnavailable`: none is kept, and the next
 * ones are tried again from the start. On a full disk they are tried once more if room can be made for them. While another
 * process holds the lock, writes wait for it, for 2 s at most.
 */
export class GroupCommit {
  readonly #db: Database.Database;
  readonly #space: Pick<DiskSpace, 'makeRoom' | 'afterCommit'> | null;
  readonly #begin: Database.Statement;
  readonly #beginRead: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  /** Changes with each commit of another connection. */
  readonly #version: Database.Statement<[], number>;
  readonly #changes: Database.Statement<[], number>;
  readonly #residents: Resident[] = [];
  /** The version that the residents were loaded at; null: what they hold is not what is on disk. */
  #loaded: number | null = null;
  /** A member of this commit changed tables behind the residents. */
  #stale = false;
  #waiting: Member[] = [];
  #undecided: Member[] = [];
  /** Made since the last commit, in their order. */
  #decisions: (() => unknown)[] = [];
  #scheduled = false;
  #closed = false;
  #failure: unknown = null;

  /** @param space null: nothing is done about a full disk. */
  constructor(db: Database.Database, space: Pick<DiskSpace, 'makeRoom' | 'afterCommit'> | null = null) {
    this.#db = db;
    this.#space = space;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#beginRead = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
    this.#version = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck();
  }

  /** Why the last write failed, if the environment was the reason; null after a write that succeeded. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Keeps the memory of a part of the store current. To be called before its first use. */
  keep(resident: Resident): void {
    this.#residents.push(resident);
    this.#loaded = null;
  }

  /**
   * Runs `work` in the next commit.
   * @param work synchronous; reads what earlier members of the same commit have written. It may be run
   * again, after what it did was undone, so it changes nothing but the database and its residents.
   * @returns its result, once that is durable.
   */
  write<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ since: performance.now(), work, resolve, reject });
    this.#schedule();
    return promise as Promise<T>;
  }

  /**
   * Runs `work` in this tick, on the residents, together with what else is to be decided. What it changes is stored with
   * the next commit; nobody waits for it. If another process has written before that, or another write fails, `work` is
   * run again on what is stored, and its first result stands. While commits fail, the result waits for the commit.
   * @param work as for `write`, but it changes nothing but residents.
   */
  decide<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#failure !== null) return this.write(work);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#undecided.length === 0) setImmediate(() => this.#decideAll());
    this.#undecided.push({ since: performance.now(), work, resolve, reject });
    return promise as Promise<T>;
  }

  /** Resolves once everything that was decided is stored. */
  flush(): Promise<void> {
    return this.#decisions.length === 0 ? Promise.resolve() : this.write(() => undefined);
  }

  /** Runs a read of residents now, on what is committed or decided. */
  read<T>(work: () => T): Promise<T> {
    return read(() => {
      this.expectOpen();
      this.#refresh();
      return work();
    });
  }

  /** Within a commit: residents are read again before their next use, since `work` changed their tables. */
  reloadResidents(): void {
    this.#stale = true;
  }

  /** @throws StoreUnavailable once it is closed. */
  expectOpen(): void {
    if (this.#closed) throw closed();
  }

  /** Commits what waits; later writes are rejected. */
  async close(): Promise<void> {
    this.#decideAll();
    this.#closed = true;
    while (this.#waiting.length > 0) {
      const locked = this.#commitWaiting() === 'locked';
      if (locked) await wait(LOCK_RETRY_MS);
    }
  }

  /**
   * In one read transaction, since each of its own would take locks of the file. While another process holds the lock,
   * the rest is decided with the next commit, which waits for it.
   */
  #decideAll(): void {
    const asked = this.#undecided;
    this.#undecided = [];
    try {
      this.#beginRead.run();
      this.#refresh();
      for (let member = asked[0]; member; member = asked[0]) {
        this.#decideOne(member);
        asked.shift();
      }
    } catch (error) {
      if (isBusy(error)) {
        this.#waiting.push(...asked);
        this.#schedule();
      } else for (const { reject } of asked) reject(new StoreUnavailable(error));
    } finally {
      if (this.#db.inTransaction) this.#rollback.run();
    }
  }

  /** @throws a failure of the environment */
  #decideOne({ work, resolve, reject }: Member): void {
    try {
      const value = work();
      this.#noteDecision(work);
      resolve(value);
    } catch (error) {
      // What it did up to there is forgotten.
      this.#loaded = null;
      if (isEnvironmentFailure(error)) throw error;
      reject(error);
      this.#refresh();
    }
  }

  #noteDecision(work: () => unknown): void {
    // The failure of this commit is known from the writes that follow.
    if (this.#decisions.length === 0) this.write(() => undefined).catch(() => undefined);
    this.#decisions.push(work);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#commitScheduled());
  }

  #commitScheduled(): void {
    this.#scheduled = false;
    const outcome = this.#commitWaiting();
    if (this.#waiting.length === 0) return;
    if (outcome !== 'locked') {
      this.#schedule();
      return;
    }
    this.#scheduled = true;
    setTimeout(() => this.#commitScheduled(), LOCK_RETRY_MS);
  }

  /** @returns `locked`: nothing was written, and those that have not waited too long still wait. */
  #commitWaiting(): 'settled' | 'locked' {
    let members = this.#waiting.splice(0, MAX_MEMBERS);
    try {
      while (members.length > 0) {
        const outcome = this.#tryWithRoom(members);
        if ('values' in outcome) {
          members.forEach(({ resolve }, place) => {
            resolve(outcome.values[place]);
          });
          this.#space?.afterCommit();
          return 'settled';
        }
        outcome.failed.reject(outcome.error);
        members = members.filter((member) => member !== outcome.failed);
      }
      return 'settled';
    } catch (error) {
      if (isBusy(error)) {
        this.#waiting.unshift(...members);
        this.#refuseOverdue(error);
        return 'locked';
      }
      this.#refuse(members, error);
      return 'settled';
    }
  }

  /** Refuses those that have waited too long; the oldest are at the front. */
  #refuseOverdue(error: unknown): void {
    const overdue = performance.now() - LOCK_WAIT_MS;
    const kept = this.#waiting.findIndex(({ since }) => since > overdue);
    this.#refuse(this.#waiting.splice(0, kept < 0 ? this.#waiting.length : kept), error);
  }

  #refuse(members: readonly Member[], error: unknown): void {
    if (members.length === 0) return;
    this.#failure = error;
    const failure = new StoreUnavailable(error);
    for (const { reject } of members) reject(failure);
  }

  /** Tries again if the disk was full and room could be made. @throws what fails all of them. */
  #tryWithRoom(members: readonly Member[]): Outcome {
    try {
      return this.#tryTogether(members);
    } catch (error) {
      if (!isOutOfSpace(error) || !this.#space?.makeRoom()) throw error;
      return this.#tryTogether(members);
    }
  }

  /** Nothing is kept if one of them fails. @throws what fails all of them. */
  #tryTogether(members: readonly Member[]): Outcome {
    this.#beginTransaction();
    const before = this.#failure === null ? 0 : this.#changes.get();
    let done = false;
    this.#stale = false;
    try {
      this.#refresh();
      const values: unknown[] = [];
      for (const member of members) {
        try {
          values.push(member.work());
        } catch (error) {
          if (isEnvironmentFailure(error)) throw error;
          return { failed: member, error };
        }
      }
      for (const resident of this.#residents) resident.save?.();
      this.#commitDecided();
      done = true;
      if (this.#stale) this.#loaded = null;
      for (const resident of this.#residents) resident.committed?.();
      // A commit without a change writes nothing, so it proves nothing.
      if (this.#failure !== null && this.#changes.get() !== before) this.#failure = null;
      return { values };
    } finally {
      if (!done) this.#undo();
    }
  }

  /**
   * If the commit fails, nobody knows what is on the disk, and nothing may be counted twice: the decisions are forgotten.
   * If a lock stopped it, or no room for it, nothing was written, and they are stored with the next commit.
   */
  #commitDecided(): void {
    const decisions = this.#decisions;
    this.#decisions = [];
    try {
      this.#commit.run();
    } catch (error) {
      if (isBusy(error) || isUnwritten(error)) this.#decisions = decisions;
      throw error;
    }
  }

  #beginTransaction(): void {
    try {
      this.#begin.run();
    } catch (error) {
      // It may have begun nevertheless; left open, it would keep the lock and every later one from beginning.
      if (this.#db.inTransaction) this.#rollback.run();
      throw error;
    }
  }

  #undo(): void {
    this.#loaded = null;
    for (const resident of this.#residents) resident.undone?.();
    // SQLite itself ends the transaction at some failures.
    if (this.#db.inTransaction) this.#rollback.run();
  }

  #refresh(): void {
    const version = this.#version.get() ?? 0;
    if (version === this.#loaded) return;
    for (const resident of this.#residents) resident.load?.();
    try {
      for (const decide of this.#decisions) decide();
    } catch (error) {
      // A defect: it would fail each commit.
      if (!isEnvironmentFailure(error)) this.#decisions = [];
      throw error;
    }
    this.#loaded = version;
  }
}

function closed(): StoreUnavailable {
  return new StoreUnavailable(new Error('the store is closed'));
}

/**
 * Runs a read now, on what is committed. While another process holds the lock of the database, the read is
 * tried again, for 2 s at most. Failures of the environment become `StoreUnavailable`.
 */
export async function read<T>(work: () => T): Promise<T> {
  const gives_up_at = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= gives_up_at) throw asStoreFailure(error);
    }
    await wait(LOCK_RETRY_MS);
  }
}
