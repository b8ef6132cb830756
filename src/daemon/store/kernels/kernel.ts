/**
 * A small transactional store of documents. The rules of each concern are written once, over this interface, in
 * `src/daemon/store`; a kernel knows a database, and no rule.
 *
 * Documents are JSON. They are never changed in place: a step puts a new one.
 */
export interface Kernel {
  /** Names the database for people. */
  readonly description: string;
  /**
   * Runs the work in one atomic step. All its reads are of one moment. Its writes are stored only if each document that
   * it has read with `get` or `items`, put or deleted is still the same; the work runs again otherwise. If the work
   * throws, nothing is written.
   *
   * `first` and `count` are not checked again: a document that another step puts into an index at the same time may be
   * missing, and one that was found but not read or put may have changed. If that matters, each step that changes the
   * index has to put a document that the reader also puts (`keepsSession`).
   *
   * Durable when it resolves, unless the step is lazy: a lazy change is durable with the next step that is not, at the
   * latest.
   * @param work may run several times, until its reads are still true when its writes are stored. It must not use a
   *   clock, random numbers or anything else outside of the transaction.
   * @throws StoreUnavailable if the database cannot be read or written.
   */
  step<R>(work: (tx: Tx) => R, options?: StepOptions): Promise<R>;
  /**
   * All live documents of a kind, in no particular order. Documents that change meanwhile may be missing or outdated, or
   * come twice.
   */
  scan<T>(kind: Kind<T, never> | Kind<T, unknown>): AsyncIterable<Entry<T>>;
  /** The newest records that the query selects, oldest first. */
  findRecords<R>(ring: Ring<R>, query: RingQuery<R>): Promise<R[]>;
  /** Deletes the records that `isMeant` selects. @returns how many. */
  unlog<R>(ring: Ring<R>, isMeant: (record: R) => boolean): Promise<number>;
  /**
   * Calls the listener after `tell` on the channel, possibly more than once, and possibly never: whoever waits must also
   * read regularly. @returns a function that ends the calls.
   */
  watch(channel: string, hear: Listener): () => void;
  /**
   * Stores all steps of the work in one, or none of them. Absent if the kernel cannot do that. Only commands call it, and
   * no other step may begin meanwhile.
   */
  together?<R>(work: () => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

export interface StepOptions {
  /** The change may wait for the next durable one. */
  lazy?: true;
  /**
   * The change takes, renews or gives back a claim. A database that crashes may forget it: whoever holds the claim then
   * stores nothing more under it. It always outlives this process.
   */
  claims?: true;
  /** The change must be on disk when the step resolves, even if the database is set up to be less strict. */
  journal?: true;
  /**
   * The step only takes, keeps or ends a claim. In a store of one process, where claims end with it, the step is lazy and
   * succeeds even while the database cannot be written.
   */
  onlyClaims?: true;
}

export type Listener = (...heard: readonly unknown[]) => void;

/**
 * A kind of document.
 * @typeParam T the document
 * @typeParam I the items of the list that belongs to each document; never if it has none
 */
export interface Kind<T, I = never> {
  /** Part of the stored form: it never changes. */
  readonly name: string;
  /** When the document ends, ms since the epoch; null if it does not. From then on it is absent, and so is its list. */
  expires(doc: T): number | null;
  /** The ordered indexes in which the document is now. They are derived from it, and cover small sets only. */
  indexes?(doc: T): readonly IndexEntry[];
  /**
   * A hint: whether the index covers many documents, so that it should not be held in memory. A document is in at most
   * one such index.
   */
  isWide?(index: string): boolean;
  /**
   * A hint: the documents are claims or counts that mean nothing once the process that stored them has ended. A store
   * that only one process uses need not write them.
   */
  readonly isVolatile?: true;
  /**
   * A hint: no document shares an object with whoever puts it, so that a kernel can keep it as it is. It is for small
   * documents that are read and put often.
   */
  readonly isUnshared?: true;
  /** The tag of the anonymous client for whom the document counts (ANONYMOUS_STORE_BYTES); null if there is none. */
  client?(doc: T, key: string): string | null;
  /** Only for the type of the items. */
  readonly item?: I;
  /** Whether the documents can have a list. Without it, they have none. */
  hasList?: true;
  /**
   * Whether most of its indexes are empty. Then a kernel need not read one before a step that changes something: it
   * checks that it is empty when the step is stored.
   */
  isSparse?: true;
  /** For kernels whose keys other programs see, too. */
  shared?: Shared<T>;
}

/** Documents of which other programs read and write a part, under the key of the document. */
interface Shared<T> {
  /** Matches the keys, as a glob and exactly. */
  readonly keys: { glob: string; exactly: RegExp };
  /** The part of other programs. */
  text(doc: T): string;
  /** The other parts, as they are stored beside it. */
  beside(doc: T): unknown;
  /**
   * The document with this text.
   * @param ends_at the expiry that the other program has set; null if it has set none
   * @param beside what is stored beside it; null if another program has stored the text
   */
  read(text: string, of: { key: string; ends_at: number | null; beside: unknown; now: number }): unknown;
}

/** A place in an index: ordered by `score`, then by `tie`. */
export type IndexEntry = readonly [index: string, score: number, tie?: number];

export interface Entry<T> {
  key: string;
  doc: T;
}

/** A log of bounded size. Beyond it, the oldest records are deleted. */
export interface Ring<R> {
  readonly name: string;
  readonly max: number;
  readonly retention_ms: number;
  /** The ids by which a record is found. */
  ids(record: R): readonly string[];
  /** The tag of the anonymous client for whom the record counts (ANONYMOUS_STORE_BYTES); null if there is none. */
  client?(record: R): string | null;
}

export interface RingQuery<R> {
  /** Only records with this id. */
  id?: string;
  isFound?(record: R): boolean;
  limit: number;
}

/** One step. Everything in it is synchronous. */
export interface Tx {
  /** The time of the store, ms since the epoch; the same during the whole step. */
  readonly now: number;
  /** The time by which claims expire, which nobody sets; `now` if it is absent. */
  readonly steady?: number;
  /** Whether the process that has made the owner has certainly ended. */
  isDead?(owner: string): boolean;
  get<T>(kind: Kind<T, unknown>, key: string): T | null;
  put<T>(kind: Kind<T, unknown>, key: string, doc: T): void;
  /** Deletes a document with its list. No effect if there is none. */
  delete(kind: Kind<never, unknown>, key: string): void;
  /** The first documents of an index. */
  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[];
  /** The number of documents in an index. */
  count(kind: Kind<never, unknown>, index: string): number;
  /**
   * Adds items to the end of a document's list.
   * @param beside what else is stored because of them, and counts for the same anonymous client (`Kind.client`)
   */
  append<I>(kind: Kind<never, I>, key: string, items: readonly I[], beside?: unknown): void;
  /**
   * The items of a document's list, oldest first.
   * @param start as of `Array.slice`: how many to leave out at the beginning, or how many there are at most if it is
   *   negative; all of them if it is absent
   */
  items<I>(kind: Kind<never, I>, key: string, start?: number): I[];
  /** Replaces the list of a document. */
  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void;
  log<R>(ring: Ring<R>, record: R): void;
  /** A number that is greater than that of each earlier step. Each call within a step gives the next one. */
  serial(): number;
  /**
   * An owner of a claim that nobody else makes (128 random bits, at least for each process); the same each time the
   * step runs again.
   */
  newOwner(): string;
  /** Calls the listeners of the channel after the commit. */
  tell(channel: string, ...heard: readonly unknown[]): void;
}
