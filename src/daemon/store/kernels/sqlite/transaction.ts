import { randomSuffix } from '../../../time/clock.ts';
import { copyOf } from '../copy-of.ts';
import type { Entry, Kind, Ring, Tx } from '../kernel.ts';
import { comparePlaces } from '../ordered-index.ts';
import { listEntries, readExpiry } from '../read-kind.ts';
import type { Documents, HeldEntry } from './documents.ts';
import type { Journal } from './journal.ts';
import type { Records } from './records.ts';
import { appended, isAlive, type List, NO_ITEMS, orderedPlaces, parseDoc, type Version } from './version.ts';

/** What steps work on. */
export interface TxParts {
  documents: Documents;
  journal: Journal;
  records: Records;
  owners: Owners;
  /** Whether this process is the only daemon, so that claims of other processes are dead. */
  isDaemon: boolean;
}

/**
 * One run of a step. It changes the documents in memory at once; the commit writes them. Each change can be undone until
 * then.
 */
export class SqliteTx implements Tx {
  readonly now: number;
  readonly steady: number;
  readonly told: (readonly [channel: string, heard: readonly unknown[]])[] = [];
  /** Whether the step has read something that is not committed yet. */
  hasSeenUncommitted = false;
  readonly #parts: TxParts;
  readonly #owners: string[];
  readonly #mark;
  readonly #logged: number;
  #claims = 0;

  /** @param owners the claims of an earlier run, which are used again */
  constructor(parts: TxParts, { now, steady }: { now: number; steady: number }, owners: string[]) {
    this.#parts = parts;
    this.now = now;
    this.steady = steady;
    this.#owners = owners;
    this.#mark = parts.documents.mark;
    this.#logged = parts.records.logged.length;
  }

  isDead(owner: string): boolean {
    return this.#parts.isDaemon && !this.#parts.owners.hasMade(owner);
  }

  get<T>(kind: Kind<T, unknown>, key: string): T | null {
    const version = this.#alive(kind, key);
    return version === null ? null : (parseDoc(version) as T);
  }

  put<T>(kind: Kind<T, unknown>, key: string, doc: T): void {
    const { documents } = this.#parts;
    const entry = this.#entry(kind as Kind<never, unknown>, key);
    const before = isAlive(entry.version, this.now) ? entry.version : null;
    if (before?.doc === doc) return;
    if (before === null) this.#dropList(entry.version);
    const places = listEntries(kind as Kind<never, unknown>, doc);
    const name = kind.isWide ? (places.find(([index]) => kind.isWide?.(index))?.[0] ?? null) : null;
    const expires_at = readExpiry(kind, doc);
    documents.change(entry, {
      doc,
      text: '',
      expires_at,
      isLive: places.length > (name === null ? 0 : 1),
      name,
      client: kind.client?.(doc, key) ?? null,
      list: before?.list ?? NO_ITEMS,
      places: orderedPlaces(places, key, expires_at),
    });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    const { documents } = this.#parts;
    const entry = this.#entry(kind, key);
    // A command cannot know whether the daemon has a document of a volatile kind.
    const isUnknown = kind.isVolatile === true && !documents.isOnlyInMemory(entry.shelf);
    if (entry.version === null && !isUnknown) return;
    this.#dropList(entry.version);
    documents.change(entry, null);
  }

  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[] {
    const { documents } = this.#parts;
    const shelf = documents.shelf(kind as Kind<never, unknown>);
    this.hasSeenUncommitted ||= documents.awaited.size > 0;
    if (kind.isWide?.(index)) return this.#wide(kind, documents.named(shelf, index), index, limit);
    const found: Entry<T>[] = [];
    for (const { key } of documents.index(shelf, index)?.all() ?? []) {
      if (found.length >= limit) break;
      const doc = this.get(kind, key);
      if (doc !== null) found.push({ key, doc });
    }
    return found;
  }

  count(kind: Kind<never, unknown>, index: string): number {
    const { documents } = this.#parts;
    this.hasSeenUncommitted ||= documents.awaited.size > 0;
    return documents.index(documents.shelf(kind), index)?.count(this.now) ?? 0;
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[], beside?: unknown): void {
    this.#changeList(kind as Kind<never, unknown>, key, (list, client) =>
      appended(list, items, client === null || beside === undefined ? 0 : JSON.stringify(beside).length),
    );
  }

  items<I>(kind: Kind<never, I>, key: string, start = 0): I[] {
    const version = this.#alive(kind, key);
    return version === null ? [] : (this.#parts.documents.items(version.list, start) as I[]);
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    this.#changeList(kind as Kind<never, unknown>, key, ({ last }) => {
      if (last !== null) this.#parts.documents.drops.push(last);
      return appended(NO_ITEMS, items);
    });
  }

  log<R>(ring: Ring<R>, record: R): void {
    this.#parts.records.log(ring, record);
  }

  serial(): number {
    return ++this.#parts.journal.serial;
  }

  newOwner(): string {
    const place = this.#claims++;
    this.#owners[place] ??= this.#parts.owners.next();
    return this.#owners[place];
  }

  tell(channel: string, ...heard: readonly unknown[]): void {
    this.told.push([channel, heard.map(copyOf)]);
  }

  /**
   * Ends the run: turns what was put into text, so that the store and the callers of steps share no objects.
   * @param isAwaited whether somebody waits for the commit
   * @returns whether a commit has to write anything
   */
  finish(isAwaited: boolean): boolean {
    const { documents, records } = this.#parts;
    const changed = documents.finishSince(this.#mark);
    let isWritten = records.logged.length > this.#logged || documents.drops.length > this.#mark.drops;
    for (const { shelf } of changed) isWritten ||= !documents.isOnlyInMemory(shelf);
    if (isWritten && isAwaited) for (const entry of changed) documents.awaited.add(entry);
    return isWritten;
  }

  /**
   * Nothing of the step has to be written: its changes stay as they are.
   * @returns false if they cannot, because they have to be made again when what they are based on is
   */
  keep(): boolean {
    const { documents } = this.#parts;
    if (documents.isOnUncommitted(this.#mark)) return false;
    documents.keepSince(this.#mark);
    return true;
  }

  undo(): void {
    this.#parts.documents.undoTo(this.#mark);
    this.#parts.records.logged.length = this.#logged;
  }

  #entry(kind: Kind<never, unknown>, key: string): HeldEntry {
    const { documents } = this.#parts;
    return this.#see(documents.entry(documents.shelf(kind), key));
  }

  #see(entry: HeldEntry): HeldEntry {
    this.hasSeenUncommitted ||= entry.isDirty && this.#parts.documents.awaited.has(entry);
    return entry;
  }

  #alive(kind: Kind<never, unknown>, key: string): Version | null {
    const { documents } = this.#parts;
    const entry = documents.known(documents.shelf(kind), key);
    if (entry === null) return null;
    this.#see(entry);
    return isAlive(entry.version, this.now) ? entry.version : null;
  }

  #wide<T>(kind: Kind<T, unknown>, entries: readonly HeldEntry[], index: string, limit: number): Entry<T>[] {
    return entries
      .flatMap(({ key, version }) => {
        if (!isAlive(version, this.now)) return [];
        const doc = parseDoc(version) as T;
        const [, score = 0, tie = 0] = kind.indexes?.(doc).find(([name]) => name === index) ?? [];
        return [{ key, doc, score, tie }];
      })
      .sort(comparePlaces)
      .slice(0, limit)
      .map(({ key, doc }) => ({ key, doc }));
  }

  #changeList(
    kind: Kind<never, unknown>,
    key: string,
    change: (list: List, client: string | null) => List,
  ): void {
    const entry = this.#entry(kind, key);
    if (!isAlive(entry.version, this.now))
      throw new Error(`the document ${kind.name} of a list does not exist`);
    this.#parts.documents.change(entry, {
      ...entry.version,
      list: change(entry.version.list, entry.version.client),
    });
  }

  #dropList(version: Version | null): void {
    const last = version?.list.last ?? null;
    if (last !== null) this.#parts.documents.drops.push(last);
  }
}

/** The owners of the claims that this process makes. No other process makes an owner that begins like them. */
export class Owners {
  readonly #process = `${randomSuffix()}.`;
  #made = 0;

  next(): string {
    return `${this.#process}${++this.#made}`;
  }

  hasMade(owner: string): boolean {
    return owner.startsWith(this.#process);
  }
}
