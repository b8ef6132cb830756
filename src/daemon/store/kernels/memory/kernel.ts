import { EventEmitter } from 'node:events';
import { StoreUnavailable } from '../../../errors.ts';
import { type Clock, randomSuffix } from '../../../time/clock.ts';
import { copyOf } from '../copy-of.ts';
import type { Entry, Kernel, Kind, Listener, Ring, RingQuery, Tx } from '../kernel.ts';
import { type Ordered, OrderedIndex } from '../ordered-index.ts';
import { listEntries, readExpiry } from '../read-kind.ts';

interface StoredDocument {
  doc: unknown;
  expires_at: number | null;
  items: unknown[];
  places: readonly Ordered[];
}

/** How many steps are between two deletions of expired documents. */
const SWEPT_STEPS = 100;

/** Everything that is stored. Several kernels with the same state act like several daemons on one store. */
export class MemoryState {
  readonly documents = new Map<string, Map<string, StoredDocument>>();
  readonly indexes = new Map<string, OrderedIndex>();
  readonly rings = new Map<string, { kept_at: number; record: unknown }[]>();
  readonly listeners = new EventEmitter().setMaxListeners(0);
  serial = 0;
  #steps = 0;

  of(kind: { name: string }): Map<string, StoredDocument> {
    return getOrCreate(this.documents, kind.name, () => new Map());
  }

  index(kind: { name: string }, name: string): OrderedIndex {
    return getOrCreate(this.indexes, `${kind.name} ${name}`, () => new OrderedIndex());
  }

  ring({ name }: { name: string }): { kept_at: number; record: unknown }[] {
    return getOrCreate(this.rings, name, () => []);
  }

  /** The stored document, for tests. It may have expired. */
  get<T>(kind: Kind<T, unknown>, key: string): T | undefined {
    return this.of(kind).get(key)?.doc as T | undefined;
  }

  /** All stored documents of a kind in the order in which they were first stored, for tests. */
  all<T>(kind: Kind<T, unknown>): T[] {
    return [...this.of(kind).values()].map(({ doc }) => doc as T);
  }

  /** The list of a document, for tests. */
  items<I>(kind: Kind<never, I>, key: string): readonly I[] {
    return (this.of(kind).get(key)?.items ?? []) as I[];
  }

  /** Counts a step. Some of them delete expired documents first. */
  countStep(now: number): void {
    this.#steps++;
    if (this.#steps % SWEPT_STEPS === 0) this.sweep(now);
  }

  /** Deletes the documents that have expired. */
  sweep(now: number): void {
    for (const [kind, documents] of this.documents)
      for (const [key, stored] of documents) {
        if (isAlive(stored, now)) continue;
        documents.delete(key);
        for (const place of stored.places) this.index({ name: kind }, place.index).delete(place);
      }
  }
}

/**
 * The kernel for tests and simulations. Each step runs at once, so it is atomic. Nothing outlives the process.
 * @param state an empty one, or that of another kernel
 */
export class MemoryKernel implements Kernel {
  readonly description = 'memory';
  readonly #state: MemoryState;
  readonly #clock: Clock;
  #isClosed = false;

  constructor(state: MemoryState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  async step<R>(work: (tx: Tx) => R): Promise<R> {
    this.#expectOpen();
    this.#state.countStep(this.#clock.now());
    const tx = new MemoryTx(this.#state, this.#clock.now());
    try {
      const result = copyOf(work(tx)) as R;
      tx.commit();
      return result;
    } catch (error) {
      tx.rollBack();
      throw error;
    }
  }

  async *scan<T>(kind: Kind<T, unknown>): AsyncGenerator<Entry<T>> {
    this.#expectOpen();
    const now = this.#clock.now();
    for (const [key, stored] of [...this.#state.of(kind)])
      if (isAlive(stored, now)) yield { key, doc: copyOf(stored.doc) as T };
  }

  async findRecords<R>(ring: Ring<R>, { id, isFound = () => true, limit }: RingQuery<R>): Promise<R[]> {
    this.#expectOpen();
    const since = this.#clock.now() - ring.retention_ms;
    return this.#state
      .ring(ring)
      .filter(({ kept_at }) => kept_at > since)
      .map(({ record }) => record as R)
      .filter((record) => (id === undefined || ring.ids(record).includes(id)) && isFound(record))
      .slice(-limit)
      .map((record) => copyOf(record) as R);
  }

  async unlog<R>(ring: Ring<R>, isMeant: (record: R) => boolean): Promise<number> {
    this.#expectOpen();
    const all = this.#state.ring(ring);
    const left = all.filter(({ record }) => !isMeant(record as R));
    return all.splice(0, all.length, ...left).length - left.length;
  }

  watch(channel: string, hear: Listener): () => void {
    const listener: Listener = (...heard) => {
      if (!this.#isClosed) hear(...heard);
    };
    this.#state.listeners.on(channel, listener);
    return () => void this.#state.listeners.off(channel, listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #expectOpen(): void {
    if (this.#isClosed) throw new StoreUnavailable(new Error('the store is closed'));
  }
}

/** Changes the state at once, and remembers how to take each change back. */
class MemoryTx implements Tx {
  readonly now: number;
  readonly #state: MemoryState;
  readonly #undo: (() => void)[] = [];
  readonly #told: [channel: string, heard: readonly unknown[]][] = [];

  constructor(state: MemoryState, now: number) {
    this.#state = state;
    this.now = now;
  }

  get<T>(kind: Kind<T, unknown>, key: string): T | null {
    return (this.#find(kind, key)?.doc as T | undefined) ?? null;
  }

  put<T>(kind: Kind<T, unknown>, key: string, given: T): void {
    const doc = copyOf(given) as T;
    const before = this.#find(kind, key);
    const places = listEntries(kind as Kind<never, unknown>, doc).map(
      ([index, score, tie = 0]): Ordered => ({ index, score, tie, key }),
    );
    this.#replace(kind, key, { doc, expires_at: readExpiry(kind, doc), items: before?.items ?? [], places });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    this.#replace(kind, key, undefined);
  }

  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[] {
    const found: Entry<T>[] = [];
    for (const { key } of this.#state.index(kind, index).all()) {
      if (found.length >= limit) break;
      const doc = this.get(kind, key);
      if (doc !== null) found.push({ key, doc });
    }
    return found;
  }

  count(kind: Kind<never, unknown>, index: string): number {
    return this.first(kind, index, Number.POSITIVE_INFINITY).length;
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    this.rewrite(kind, key, [...this.items(kind, key), ...items]);
  }

  items<I>(kind: Kind<never, I>, key: string, start = 0): I[] {
    return (this.#find(kind, key)?.items ?? []).slice(start) as I[];
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const stored = this.#find(kind, key);
    if (!stored) throw new Error(`the document ${kind.name} of a list does not exist`);
    this.#set(kind, key, { ...stored, items: copyOf(items) as unknown[] });
  }

  log<R>(ring: Ring<R>, record: R): void {
    const all = this.#state.ring(ring);
    const before = [...all];
    this.#undo.push(() => all.splice(0, all.length, ...before));
    all.push({ kept_at: this.now, record: copyOf(record) });
    all.splice(0, all.length - ring.max);
  }

  serial(): number {
    this.#state.serial++;
    return this.#state.serial;
  }

  newOwner(): string {
    return randomSuffix();
  }

  tell(channel: string, ...heard: readonly unknown[]): void {
    this.#told.push([channel, heard.map(copyOf)]);
  }

  commit(): void {
    for (const [channel, heard] of this.#told) this.#state.listeners.emit(channel, ...heard);
  }

  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo();
  }

  #find(kind: { name: string }, key: string): StoredDocument | undefined {
    const stored = this.#state.of(kind).get(key);
    return stored && isAlive(stored, this.now) ? stored : undefined;
  }

  /** Replaces a document in its indexes, too. */
  #replace(kind: { name: string }, key: string, stored: StoredDocument | undefined): void {
    const before = this.#set(kind, key, stored);
    const move = (from: StoredDocument | undefined, to: StoredDocument | undefined) => {
      for (const place of from?.places ?? []) this.#state.index(kind, place.index).delete(place);
      for (const place of to?.places ?? []) this.#state.index(kind, place.index).add(place);
    };
    move(before, stored);
    this.#undo.push(() => move(stored, before));
  }

  #set(kind: { name: string }, key: string, stored: StoredDocument | undefined): StoredDocument | undefined {
    const all = this.#state.of(kind);
    const before = all.get(key);
    if (stored) all.set(key, stored);
    else all.delete(key);
    this.#undo.push(() => (before ? all.set(key, before) : all.delete(key)));
    return before;
  }
}

function isAlive({ expires_at }: StoredDocument, now: number): boolean {
  return expires_at === null || expires_at > now;
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
