import { EventEmitter } from 'node:events';
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { StoreUnavailable } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import { copyOf } from '../copy-of.ts';
import type { Entry, Kernel, Kind, Listener, Ring, RingQuery, StepOptions, Tx } from '../kernel.ts';
import type { AnonymousBytes } from './anonymous-bytes.ts';
import type { Checkpoints } from './checkpoints.ts';
import { CommitSchedule, createMember, type Member } from './commit-schedule.ts';
import type { DiskSpace } from './disk-space.ts';
import { Documents, NO_CHANGES, type Scanned } from './documents.ts';
import { Journal, type JournalBounds } from './journal.ts';
import { OUTDATED, Reads } from './reads.ts';
import { Records } from './records.ts';
import { type Position, Table } from './table.ts';
import { Owners, SqliteTx, type TxParts } from './transaction.ts';
import {
  asStoreFailure,
  isBusy,
  isEnvironmentFailure,
  isOutOfSpace,
  isUnwritten,
  LOCK_RETRY_MS,
  LOCK_WAIT_MS,
  retrying,
} from './unavailable.ts';
import { isAlive, ownDoc } from './version.ts';

/** How many documents, and how many positions of documents, a scan reads at once: meanwhile, nothing else runs. */
const SCANNED = 200;
const POSITIONS = 2000;

export interface SqliteKernelParts {
  db: Database.Database;
  clock: Clock;
  /** Whether this process is the only daemon, so that claims of other processes are dead. */
  isDaemon: boolean;
  /** Makes room on a full disk; null if that is not possible. */
  space?: Pick<DiskSpace, 'makeRoom' | 'afterCommit'> | null;
  anonymous?: AnonymousBytes | null;
  checkpoints?: Pick<Checkpoints, 'afterCommit'> | null;
  /** For tests. */
  journalBounds?: JournalBounds;
}

/**
 * The kernel on a SQLite file. A step runs at once, on the documents in memory. What it changes is written together with
 * all other steps of the same tick of the event loop, and of those that arrive a moment later, so that many steps share
 * one sync of the disk. Each step that changes or sees something new settles after this commit.
 *
 * If another process has written meanwhile, all steps of the commit run again on what it has written. A step that throws
 * fails alone. A failure of the environment (disk full, read-only) rejects all steps of the commit with
 * `StoreUnavailable`, and none of them is kept. On a full disk, the commit is first tried once more if room can be made.
 * While another process holds the lock, steps wait for it, at most 2 s.
 */
export class SqliteKernel implements Kernel {
  readonly description: string;
  readonly documents: Documents;
  readonly journal: Journal;
  readonly records: Records;
  readonly #db: Database.Database;
  readonly #clock: Clock;
  readonly #space: Pick<DiskSpace, 'makeRoom' | 'afterCommit'> | null;
  readonly #anonymous: AnonymousBytes | null;
  readonly #checkpoints: SqliteKernelParts['checkpoints'];
  readonly #parts: TxParts;
  readonly #reads: Reads;
  readonly #statements;
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  /** The wall clock minus the steady clock when the store was opened. */
  readonly #steady_offset: number;
  /** The members of the next commit, in order. */
  #waiting: Member[] = [];
  readonly #schedule = new CommitSchedule(
    () => this.#commitWaiting(),
    () => this.#waiting.length,
  );
  #isTogether = false;
  #isClosing = false;
  #isClosed = false;
  #failure: unknown = null;

  constructor(parts: SqliteKernelParts) {
    const { db, clock, isDaemon, space = null, anonymous = null, checkpoints, journalBounds } = parts;
    this.description = `sqlite ${db.name}`;
    this.#db = db;
    this.#clock = clock;
    this.#space = space;
    this.#anonymous = anonymous;
    this.#checkpoints = checkpoints;
    this.#steady_offset = clock.steady === undefined ? 0 : clock.now() - clock.steady();
    this.#reads = new Reads(db);
    const table = new Table(db, () => this.#reads.beforeRead());
    this.documents = new Documents(table, isDaemon, anonymous);
    this.journal = new Journal(db, this.documents, journalBounds);
    this.records = new Records(db);
    const { documents, journal, records } = this;
    this.#parts = { documents, journal, records, owners: new Owners(), isDaemon };
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      changes: db.prepare<[], number>('SELECT total_changes()').pluck(),
    };
  }

  /** Why the last commit failed, if the environment was the reason; null after one that succeeded. */
  get failure(): unknown {
    return this.#failure;
  }

  step<R>(work: (tx: Tx) => R, { lazy: isLazy, onlyClaims }: StepOptions = {}): Promise<R> {
    const lazy = isLazy ?? onlyClaims;
    if (this.#isClosed) return Promise.reject(closed());
    const owners: string[] = [];
    const run = { isWritten: false, tx: null as SqliteTx | null };
    const waitsForCommit = () => !lazy && (run.isWritten || run.tx?.hasSeenUncommitted === true);
    const isKept = () => !run.isWritten && !waitsForCommit() && run.tx?.keep() !== false;
    const member = createMember(true, () => {
      const tx = new SqliteTx(this.#parts, this.#times(), owners);
      run.tx = tx;
      try {
        const value = copyOf(work(tx));
        run.isWritten = tx.finish(lazy !== true);
        member.outcome = { value };
        member.told = tx.told;
      } catch (error) {
        tx.undo();
        if (error === OUTDATED || isEnvironmentFailure(error)) throw error;
        run.isWritten = false;
        member.outcome = { error };
        member.told = [];
      }
    });
    const undo = () => {
      run.tx?.undo();
      run.tx = null;
      member.outcome = null;
    };
    try {
      if (this.#isTogether) member.run();
      else this.#runNow(member.run, waitsForCommit, undo);
    } catch (error) {
      if (isBusy(error)) this.#add(member);
      else member.done.reject(asStoreFailure(error));
      return member.done.promise as Promise<R>;
    }
    if (this.#isTogether) this.#answer(member);
    else if (isKept()) {
      this.#answer(member);
      // A command that only reads makes no commit.
      this.documents.dropUnused();
    } else if (lazy && (onlyClaims || this.#failure === null)) {
      this.#answer(member);
      this.#waiting.push(member);
      this.#schedule.lazily();
    } else this.#add(member);
    return member.done.promise as Promise<R>;
  }

  async *scan<T>(kind: Kind<T, unknown>): AsyncGenerator<Entry<T>> {
    const shelf = this.documents.shelf(kind as Kind<never, unknown>);
    const now = this.#clock.now();
    const entryOf = ({ key, version }: Scanned): Entry<T>[] =>
      isAlive(version, now) ? [{ key, doc: ownDoc(version) as T }] : [];
    const here = await this.read(() => this.documents.onlyHere(shelf));
    yield* here.flatMap(entryOf);
    const known = new Set(here.map(({ key }) => key));
    const ids = await this.#rowsOf(kind);
    for (let from = 0; from < ids.length; from += SCANNED) {
      const some = [...ids.subarray(from, from + SCANNED)];
      const found = await this.read(() => this.documents.inRows(shelf, some));
      yield* found.filter(({ key }) => !known.has(key)).flatMap(entryOf);
      await immediate();
    }
  }

  /** The rows of a kind, in the order of the file: in the order of their keys, each would be in a random page. */
  async #rowsOf({ name }: Kind<never, unknown>): Promise<Float64Array> {
    const ids: number[] = [];
    const next = (after: Position | null) =>
      this.read(() => this.documents.table.positions(name, after, POSITIONS));
    for (let slice = await next(null); slice.length > 0; slice = await next(slice.at(-1) ?? null)) {
      for (const { id } of slice) ids.push(id);
      await immediate();
    }
    return Float64Array.from(ids).sort();
  }

  findRecords<R>(ring: Ring<R>, query: RingQuery<R>): Promise<R[]> {
    return this.read(() => this.records.find(ring, query, this.#clock.now()));
  }

  unlog<R>(ring: Ring<R>, isMeant: (record: R) => boolean): Promise<number> {
    return this.write(() => {
      const deleted = this.records.delete(ring, isMeant);
      this.#anonymous?.subtract(deleted);
      return deleted.length;
    });
  }

  watch(channel: string, hear: Listener): () => void {
    this.#listeners.on(channel, hear);
    return () => void this.#listeners.off(channel, hear);
  }

  /** Changes other tables within the next commit. @param work may run again if the commit fails */
  write<R>(work: () => R): Promise<R> {
    if (this.#isClosed) return Promise.reject(closed());
    const member = createMember(false, () => {
      member.outcome = this.#inSavepoint(work);
    });
    if (this.#isTogether) {
      member.run();
      this.#answer(member);
    } else this.#add(member);
    return member.done.promise as Promise<R>;
  }

  /** Reads now, as `retrying` does. */
  async read<R>(work: () => R): Promise<R> {
    return retrying(() => {
      if (this.#isClosed) throw closed();
      return this.#isTogether ? work() : this.#reading(work);
    });
  }

  async together<R>(work: () => Promise<R>): Promise<R> {
    await this.step(() => undefined);
    if (this.#waiting.length > 0) await this.write(() => undefined);
    try {
      this.#begin();
      this.#isTogether = true;
      this.#catchUp();
      const result = await work();
      this.#writeChanges();
      this.#statements.commit.run();
      this.documents.committed();
      this.#isTogether = false;
      // Whoever continues looks anew for what was written.
      await immediate();
      return result;
    } catch (error) {
      this.#forget();
      throw asStoreFailure(error);
    } finally {
      this.#isTogether = false;
    }
  }

  /** Stores the waiting steps, and those that follow from them at once. Later steps are rejected. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await immediate();
    await this.#commitAll();
    await immediate();
    this.#isClosed = true;
    await this.#commitAll();
    this.#reads.end();
    this.#schedule.clear();
    this.#listeners.removeAllListeners();
  }

  async #commitAll(): Promise<void> {
    while (this.#waiting.length > 0 && this.#commitWaiting() === 'locked') await wait(LOCK_RETRY_MS);
  }

  #times(): { now: number; steady: number } {
    const now = this.#clock.now();
    const steady = this.#clock.steady?.();
    return { now, steady: steady === undefined ? now : Math.round(steady + this.#steady_offset) };
  }

  /** Works on the database while it reads nothing: some changes of the file are impossible within a transaction. */
  withoutReading<R>(work: () => R): R {
    this.#reads.end();
    return work();
  }

  /** Reads at one moment, after what other processes have written. */
  #reading<R>(work: () => R): R {
    for (;;) {
      try {
        this.#look();
        return work();
      } catch (error) {
        this.#reads.end();
        if (error !== OUTDATED) throw error;
      }
    }
  }

  /**
   * Runs a step. Only if its result does not wait for the commit, this looks whether the step has seen all that other
   * processes have written: the commit looks anyway, and looking costs system calls.
   */
  #runNow(run: () => void, waitsForCommit: () => boolean, undo: () => void): void {
    for (let isAgain = false; ; isAgain = true) {
      try {
        if (isAgain) this.#look();
        run();
        if (waitsForCommit() || this.#reads.isUpToDate()) return;
        throw OUTDATED;
      } catch (error) {
        undo();
        this.#reads.end();
        if (error !== OUTDATED) throw error;
      }
    }
  }

  /** Reads what other processes have written. */
  #look(): void {
    if (this.#reads.isUpToDate()) return;
    this.#reads.begin();
    this.#catchUp();
  }

  /** Within a transaction: reads what other processes have written, and runs the waiting steps again on top of it. */
  #catchUp(): void {
    const { version } = this.#reads;
    if (version === this.#reads.seen) return;
    this.#undoSteps();
    this.records.forget();
    this.#anonymous?.forget();
    this.journal.read();
    for (const member of this.#waiting) if (member.isStep) member.run();
    this.#reads.seen = version;
  }

  #undoSteps(): void {
    this.documents.undoTo(NO_CHANGES);
    this.records.logged.length = 0;
    for (const member of this.#waiting) member.outcome = null;
  }

  #answer(member: Member): void {
    const { outcome, told, done, isAnswered } = member;
    if (isAnswered || outcome === null) return;
    member.isAnswered = true;
    if ('error' in outcome) {
      done.reject(outcome.error);
      return;
    }
    for (const [channel, heard] of told) this.#listeners.emit(channel, ...heard);
    done.resolve(outcome.value);
  }

  #add(member: Member): void {
    this.#waiting.push(member);
    this.#schedule.soon();
  }

  /** @returns `locked` if nothing was written because of a lock: members that have not waited too long still wait. */
  #commitWaiting(): 'settled' | 'locked' {
    this.#schedule.clear();
    if (this.#waiting.length === 0) return 'settled';
    try {
      this.#storeWithRoom();
    } catch (error) {
      if (!isBusy(error)) {
        this.#refuse(error, Number.POSITIVE_INFINITY);
        return 'settled';
      }
      this.#refuse(error, performance.now() - LOCK_WAIT_MS);
      return this.#waiting.length > 0 ? 'locked' : 'settled';
    }
    const members = this.#waiting;
    this.#waiting = [];
    for (const member of members) this.#answer(member);
    this.withoutReading(() => {
      this.#space?.afterCommit();
      this.#checkpoints?.afterCommit();
    });
    return 'settled';
  }

  /**
   * Refuses the members that were requested before this time. Those that are answered already wait for the next commit.
   */
  #refuse(error: unknown, before: number): void {
    const refused = this.#waiting.filter(
      ({ isAnswered, since }) => since <= before && (!isAnswered || this.#isClosing),
    );
    if (refused.length === 0) return;
    this.#failure = error;
    this.#undoSteps();
    this.#reads.seen = null;
    this.#waiting = this.#waiting.filter((member) => !refused.includes(member));
    const failure = new StoreUnavailable(error);
    for (const { done } of refused) done.reject(failure);
  }

  #storeWithRoom(): void {
    try {
      this.#store();
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      const isPutOff = this.#anonymous?.putOff();
      if (!this.#space?.makeRoom() && !isPutOff) throw error;
      this.#store();
    }
  }

  /** Stores all members in one transaction. */
  #store(): void {
    this.#begin();
    let isCommitting = false;
    try {
      this.#catchUp();
      const before = this.#failure === null ? 0 : this.#statements.changes.get();
      for (const member of this.#waiting) if (member.outcome === null || !member.isStep) member.run();
      this.#writeChanges();
      isCommitting = true;
      this.#statements.commit.run();
      this.documents.committed();
      // A commit without changes writes nothing, so it does not prove that the store can be written.
      if (this.#failure !== null && this.#statements.changes.get() !== before) this.#failure = null;
    } catch (error) {
      this.#forget();
      // If it is not known what is on disk, and after a defect, nothing may be counted twice.
      const isKnown = isCommitting ? isBusy(error) || isUnwritten(error) : isEnvironmentFailure(error);
      if (!isKnown) this.#waiting = this.#waiting.filter(({ isAnswered }) => !isAnswered);
      throw error;
    }
  }

  /** Within a transaction: writes what the steps have changed, and makes room for it. */
  #writeChanges(): void {
    const now = this.#clock.now();
    const sizes = this.records.write(now);
    this.journal.write(now);
    if (this.#anonymous === null) return;
    this.#anonymous.add(sizes);
    this.#anonymous.makeRoom(this, now, (work) => {
      const tx = new SqliteTx(this.#parts, this.#times(), []);
      work(tx);
      tx.finish(false);
      this.journal.write(now);
    });
  }

  #begin(): void {
    this.#reads.end();
    try {
      this.#statements.begin.run();
    } catch (error) {
      // The transaction may have begun in spite of the error. An open transaction would hold the lock and block all
      // later transactions.
      if (this.#db.inTransaction) this.#statements.rollback.run();
      throw error;
    }
  }

  /** Ends a transaction that has failed, and forgets what the memory has of it. */
  #forget(): void {
    // SQLite itself ends the transaction after some failures.
    if (this.#db.inTransaction) this.#statements.rollback.run();
    this.#undoSteps();
    this.journal.reset();
    this.records.forget();
    this.#anonymous?.forget();
    this.#reads.seen = null;
  }

  /** Within a transaction: a change that fails alone. @throws a failure of the environment. */
  #inSavepoint(work: () => unknown): { value: unknown } | { error: unknown } {
    this.#db.exec('SAVEPOINT change');
    try {
      const value = work();
      this.#db.exec('RELEASE change');
      return { value };
    } catch (error) {
      if (isEnvironmentFailure(error)) throw error;
      this.#db.exec('ROLLBACK TO change; RELEASE change');
      this.documents.table.forget();
      return { error };
    }
  }
}

function closed(): StoreUnavailable {
  return new StoreUnavailable(new Error('the store is closed'));
}
