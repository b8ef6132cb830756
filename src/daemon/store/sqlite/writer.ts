import { setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { StoreUnavailable } from '../../errors.ts';
import type { DiskSpace } from './disk-space.ts';
import { asStoreFailure, isBusy, isEnvironmentFailure, isOutOfSpace, isUnwritten } from './unavailable.ts';

/** Maximum number of writes in a transaction. It limits how long a commit blocks the event loop. */
const MAX_MEMBERS = 1000;

/**
 * Maximum time that a commit waits for more writes, ms. The limit is needed because one slow commit does not mean that
 * the next one will be slow.
 */
const JOIN_WAIT_MS = 50;

/** How long a read or write waits while another process holds the lock of the database, ms. */
const LOCK_WAIT_MS = 2000;
/** How often a blocked read or write tries again, ms. The event loop is free between attempts. */
const LOCK_RETRY_MS = 25;

/**
 * A part of the store's data that is held in memory. Writes change it. If a write is undone, its changes to the
 * resident are undone, too.
 */
export interface Resident {
  /**
   * Reads the data from the disk and forgets unsaved changes. Called before the next use if another process has written
   * or a transaction was undone, so that the data is as current as the result of a query.
   */
  load?(): void;
  /** Within a transaction: writes the changes that the members of the transaction made. */
  save?(): void;
  /** Called when the transaction is durable. */
  committed?(): void;
  /** Called when the transaction was undone. */
  undone?(): void;
}

interface Member {
  /** When the write was requested, by `performance.now()`, because that clock cannot be set. */
  since: number;
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * The outcome of members that were tried together: the value of each member, or the first member that failed and its
 * error.
 */
type Outcome = { values: unknown[] } | { failed: Member; error: unknown };

/**
 * The only writer of the database. It commits all writes of one tick of the event loop together, and adds writes that
 * arrive a moment later, so that many callers share one sync of the disk. Each caller's promise settles after the
 * commit.
 *
 * A write that throws fails alone: its changes are undone, and those of the other writes are kept. A failure of the
 * environment (disk full, read-only) rejects all writes of the commit with `StoreUnavailable`, and none of them is
 * kept. It does not affect later writes. On a full disk, the writes are first tried once more if room can be made for
 * them. While another process holds the lock, writes wait for it, at most 2 s.
 */
export class GroupCommit {
  readonly #db: Database.Database;
  readonly #space: Pick<DiskSpace, 'makeRoom' | 'afterCommit'> | null;
  readonly #begin: Database.Statement;
  readonly #beginRead: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  /** A number that changes with each commit of another connection. */
  readonly #version: Database.Statement<[], number>;
  readonly #changes: Database.Statement<[], number>;
  readonly #residents: Resident[] = [];
  /** The version at which the residents were loaded. Null if they are different from the data on disk. */
  #loaded: number | null = null;
  /** Whether a member of this commit changed tables without updating the residents. */
  #stale = false;
  #waiting: Member[] = [];
  #undecided: Member[] = [];
  /** The decisions since the last commit, in their order. */
  #decisions: (() => unknown)[] = [];
  #scheduled = false;
  #scheduled_at = 0;
  /** How many writes were waiting at the last check. */
  #seen = 0;
  /** How long the last commit took, ms. */
  #took_ms = 0;
  #closed = false;
  #failure: unknown = null;

  /** @param space makes room on a full disk; null if that is not possible. */
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

  /**
   * From now on, loads, saves and undoes this resident with the commits. Must be called before the resident's first
   * use.
   */
  keep(resident: Resident): void {
    this.#residents.push(resident);
    this.#loaded = null;
  }

  /**
   * Runs `work` in the next commit.
   * @param work synchronous; sees the changes of earlier members of the same commit. It may be undone and run again, so
   * it must change only the database and its residents.
   * @returns the result of `work`, once its changes are durable.
   */
  write<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ since: performance.now(), work, resolve, reject });
    this.#schedule();
    return promise as Promise<T>;
  }

  /**
   * Runs `work` in this tick, on the residents, together with other decisions. The next commit stores its changes, but
   * the result does not wait for that commit. If another process writes before the commit, or another write fails,
   * `work` is run again on the stored data; its first result remains valid. While commits fail, the result waits for
   * the commit.
   * @param work as for `write`, but it must change only residents.
   */
  decide<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#failure !== null) return this.write(work);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#undecided.length === 0) setImmediate(() => this.#decideAll());
    this.#undecided.push({ since: performance.now(), work, resolve, reject });
    return promise as Promise<T>;
  }

  /** Resolves once all decisions are stored. */
  flush(): Promise<void> {
    return this.#decisions.length === 0 ? Promise.resolve() : this.write(() => undefined);
  }

  /** Runs a read of residents now. It sees committed and decided data. */
  read<T>(work: () => T): Promise<T> {
    return read(() => {
      this.expectOpen();
      this.#refresh();
      return work();
    });
  }

  /** Within a commit: loads the residents again before their next use, because `work` changed their tables. */
  reloadResidents(): void {
    this.#stale = true;
  }

  /** @throws StoreUnavailable if the store is closed. */
  expectOpen(): void {
    if (this.#closed) throw closed();
  }

  /** Commits the waiting writes. Later writes are rejected. */
  async close(): Promise<void> {
    this.#decideAll();
    this.#closed = true;
    while (this.#waiting.length > 0) {
      const locked = this.#commitWaiting() === 'locked';
      if (locked) await wait(LOCK_RETRY_MS);
    }
  }

  /**
   * Runs the waiting decisions in one read transaction, because separate transactions would each take file locks. While
   * another process holds the lock, the remaining decisions are made with the next commit, which waits for the lock.
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

  /** @throws a failure of the environment. */
  #decideOne({ work, resolve, reject }: Member): void {
    try {
      const value = work();
      this.#noteDecision(work);
      resolve(value);
    } catch (error) {
      // The changes that the decision has made so far are forgotten.
      this.#loaded = null;
      if (isEnvironmentFailure(error)) throw error;
      reject(error);
      this.#refresh();
    }
  }

  #noteDecision(work: () => unknown): void {
    // If this commit fails, the next writes will fail, too, and report it.
    if (this.#decisions.length === 0) this.write(() => undefined).catch(() => undefined);
    this.#decisions.push(work);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#seen = 0;
    this.#scheduled_at = performance.now();
    setImmediate(() => this.#commitScheduled());
  }

  #commitScheduled(): void {
    if (this.#isGrowing()) {
      setImmediate(() => this.#commitScheduled());
      return;
    }
    this.#scheduled = false;
    const began = performance.now();
    const outcome = this.#commitWaiting();
    this.#took_ms = performance.now() - began;
    if (this.#waiting.length === 0) return;
    if (outcome !== 'locked') {
      this.#schedule();
      return;
    }
    this.#scheduled = true;
    setTimeout(() => this.#commitScheduled(), LOCK_RETRY_MS);
  }

  /**
   * Whether more writes have arrived since the last check. If so, the commit waits for them, because they then share
   * it. It waits at most as long as the last commit took, so that a write waits about as long as it would for another
   * commit, and never longer than `JOIN_WAIT_MS`.
   */
  #isGrowing(): boolean {
    const grows = this.#waiting.length > this.#seen && this.#waiting.length < MAX_MEMBERS;
    this.#seen = this.#waiting.length;
    return grows && performance.now() - this.#scheduled_at < Math.min(this.#took_ms, JOIN_WAIT_MS);
  }

  /**
   * @returns `locked` if nothing was written because of a lock: writes that have not waited too long are still waiting.
   */
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

  /** Refuses writes that have waited too long. The oldest are at the front. */
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

  /**
   * Runs and commits the writes. Tries again if the disk was full and room could be made.
   * @throws an error that makes all of the writes fail.
   */
  #tryWithRoom(members: readonly Member[]): Outcome {
    try {
      return this.#tryTogether(members);
    } catch (error) {
      if (!isOutOfSpace(error) || !this.#space?.makeRoom()) throw error;
      return this.#tryTogether(members);
    }
  }

  /** Runs and commits the writes. If one of them fails, none is kept. @throws an error that makes all of them fail. */
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
      // A commit without changes writes nothing, so it does not prove that the store can be written.
      if (this.#failure !== null && this.#changes.get() !== before) this.#failure = null;
      return { values };
    } finally {
      if (!done) this.#undo();
    }
  }

  /**
   * Commits the transaction. If the commit fails because of a lock or lack of space, nothing was written, and the
   * decisions are stored with the next commit. After any other failure, the content of the disk is not known. The
   * decisions are then forgotten, because nothing may be counted twice.
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
      // The transaction may have begun in spite of the error. An open transaction would hold the lock and block all
      // later transactions.
      if (this.#db.inTransaction) this.#rollback.run();
      throw error;
    }
  }

  #undo(): void {
    this.#loaded = null;
    for (const resident of this.#residents) resident.undone?.();
    // SQLite itself ends the transaction after some failures.
    if (this.#db.inTransaction) this.#rollback.run();
  }

  #refresh(): void {
    const version = this.#version.get() ?? 0;
    if (version === this.#loaded) return;
    for (const resident of this.#residents) resident.load?.();
    try {
      for (const decide of this.#decisions) decide();
    } catch (error) {
      // A defect of the program would make every later commit fail, so the decisions are forgotten.
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
 * Runs a read now, on committed data. While another process holds the lock of the database, the read is retried for at
 * most 2 s. Failures of the environment become `StoreUnavailable`.
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
