import { copyOf, frozen } from '../copy-of.ts';
import type { Kind } from '../kernel.ts';
import type { OrderedIndex } from '../ordered-index.ts';
import type { AnonymousBytes } from './anonymous-bytes.ts';
import { HeldEntries } from './held-entries.ts';
import type { ClientBytes } from './records.ts';
import { type DocumentRow, hashOf, type StoredRow, type Table, toStoredRow, toVersion } from './table.ts';
import {
  addPlace,
  type Indexes,
  type List,
  listPlaces,
  measureSize,
  movePlaces,
  removePlace,
  TAIL_BYTES_MAX,
  type Version,
} from './version.ts';

/** A document in memory. */
export interface HeldEntry {
  readonly shelf: Shelf;
  readonly key: string;
  /** By which the table finds it (`hashOf`); NaN until it is needed. */
  hash: number;
  /** Null: there is no such document. */
  version: Version | null;
  /** The row of the journal that has this version; 0 if the table `docs` has it. */
  row: number;
  /** What the table `docs` has; null if it has no row, undefined if that is not known. */
  stored: StoredRow | null | undefined;
  isDirty: boolean;
  /** What it takes on disk if it counts for an anonymous client. */
  counted: ClientBytes | null;
  /** Whether it was used since the last search for documents to drop from memory. */
  isUsed: boolean;
  /** Its neighbors in `HeldEntries`. */
  next: HeldEntry | null;
  previous: HeldEntry | null;
}

/** The documents of one kind. */
interface Shelf {
  readonly name: string;
  /** Null until the kind is used: a journal has only its name. */
  kind: Kind<unknown, unknown> | null;
  readonly entries: Map<string, HeldEntry>;
  /** Null until an index of the kind is used. */
  indexes: Indexes | null;
  /** The key that was hashed last: a new document is searched in vain just before it is put. */
  hashed: { key: string; hash: number } | null;
}

/** How a change is undone. */
interface Undo {
  entry: HeldEntry;
  version: Version | null;
  wasDirty: boolean;
}

/** A position in the changes that can be undone. */
export interface Mark {
  readonly changes: number;
  readonly drops: number;
}

/** Before all changes. */
export const NO_CHANGES: Mark = { changes: 0, drops: 0 };

/** A document that a scan finds. */
export interface Scanned {
  key: string;
  version: Version | null;
}

/**
 * The documents in memory: those of the journal, those with changes that are not committed yet, and the most recently
 * used others. All other documents are read from the table when they are needed.
 */
export class Documents {
  readonly table: Table;
  readonly #shelves = new Map<string, Shelf>();
  readonly #held = new HeldEntries();
  readonly #isDaemon: boolean;
  readonly #anonymous: AnonymousBytes | null;
  /** The entries that differ from what is on disk. */
  dirty = new Set<HeldEntry>();
  /** Those of them whose change somebody waits for. */
  awaited = new Set<HeldEntry>();
  /** The last rows of the lists that are to be deleted. */
  readonly drops: number[] = [];
  readonly #undo: Undo[] = [];

  /** @param isDaemon whether this process is the only daemon: documents of volatile kinds are only in its memory */
  constructor(table: Table, isDaemon: boolean, anonymous: AnonymousBytes | null) {
    this.table = table;
    this.#anonymous = anonymous;
    this.#isDaemon = isDaemon;
  }

  /** Whether the documents of this kind are only in memory. */
  isOnlyInMemory({ kind }: Shelf): boolean {
    return this.#isDaemon && kind?.isVolatile === true;
  }

  /** Whether the memory has what the table has not. */
  isOnlyHere({ row, isDirty, version, shelf }: HeldEntry): boolean {
    return row !== 0 || isDirty || (version !== null && this.isOnlyInMemory(shelf));
  }

  shelf(kind: Kind<never, unknown>): Shelf {
    const shelf = this.shelfNamed(kind.name);
    shelf.kind ??= kind as Kind<unknown, unknown>;
    return shelf;
  }

  shelfNamed(name: string): Shelf {
    let shelf = this.#shelves.get(name);
    if (shelf === undefined) {
      shelf = { name, kind: null, entries: new Map(), indexes: null, hashed: null };
      this.#shelves.set(name, shelf);
    }
    return shelf;
  }

  /** The entry of a document, which is read from the table if it is not in memory. */
  entry(shelf: Shelf, key: string): HeldEntry {
    const held = this.#heldEntry(shelf, key);
    if (held !== undefined) return held;
    if (this.#isNotInTable(shelf)) return this.#add(shelf, key, null, null);
    const hash = this.#hash(shelf, key);
    return this.#take(shelf, key, hash, this.table.find(shelf.name, key, hash));
  }

  /** The entry of a document; null if there is no such document. Unlike `entry`, it makes none for that. */
  known(shelf: Shelf, key: string): HeldEntry | null {
    const held = this.#heldEntry(shelf, key);
    if (held !== undefined) return held;
    if (this.#isNotInTable(shelf)) return null;
    const hash = this.#hash(shelf, key);
    const row = this.table.find(shelf.name, key, hash);
    return row === undefined ? null : this.#take(shelf, key, hash, row);
  }

  #hash(shelf: Shelf, key: string): number {
    if (shelf.hashed?.key !== key) shelf.hashed = { key, hash: hashOf(shelf.name, key) };
    return shelf.hashed.hash;
  }

  #heldEntry(shelf: Shelf, key: string): HeldEntry | undefined {
    const held = shelf.entries.get(key);
    if (held !== undefined) held.isUsed = true;
    return held;
  }

  /** Whether the table certainly has no document of this kind. */
  #isNotInTable(shelf: Shelf): boolean {
    return this.isOnlyInMemory(shelf) || this.table.isEmpty(shelf.name);
  }

  /** The entry of a document that another process has put or deleted. It may not be in memory yet. */
  entryAnew(shelf: Shelf, key: string): HeldEntry {
    const known = shelf.entries.get(key);
    if (known !== undefined) return known;
    // The row that tells its places may be gone already, or have the new ones.
    if (!this.isOnlyInMemory(shelf)) shelf.indexes = null;
    return this.#add(shelf, key, null, undefined);
  }

  /** The entries of the documents in a wide index that have this name. */
  named(shelf: Shelf, name: string): HeldEntry[] {
    const keys = new Set(this.table.named(shelf.name, name));
    for (const { key } of this.index(shelf, name)?.all() ?? []) keys.add(key);
    return [...keys].map((key) => this.entry(shelf, key)).filter((entry) => entry.version?.name === name);
  }

  /** An ordered index; undefined if it has no document. Places of documents that have expired are among the others. */
  index(shelf: Shelf, name: string): OrderedIndex | undefined {
    return this.#loadIndexes(shelf).get(name);
  }

  /** The documents that the table has not, or not as they are now. */
  onlyHere(shelf: Shelf): Scanned[] {
    return [...shelf.entries.values()]
      .filter((entry) => this.isOnlyHere(entry))
      .map(({ key, version }) => ({ key, version }));
  }

  /** The documents in these rows of the table, as they are now. */
  inRows(shelf: Shelf, ids: readonly number[]): Scanned[] {
    return this.table.rows(shelf.name, ids).map((row) => {
      const { version } = shelf.entries.get(row.key) ?? { version: toVersion(row) };
      return { key: row.key, version };
    });
  }

  /** The hash by which the table finds a document. */
  hashOf(entry: HeldEntry): number {
    if (Number.isNaN(entry.hash)) entry.hash = hashOf(entry.shelf.name, entry.key);
    return entry.hash;
  }

  /** What the table has of a document. */
  storedRow(entry: HeldEntry): StoredRow | null {
    if (entry.stored === undefined) {
      const { shelf, key } = entry;
      const row = this.table.find(shelf.name, key, this.hashOf(entry));
      entry.stored = row === undefined ? null : toStoredRow(row);
    }
    return entry.stored;
  }

  /** The items of a list. @param start see `Tx.items` */
  items(list: List, start: number): unknown[] {
    const count = list.count + list.added.length;
    const from = start < 0 ? Math.max(0, count + start) : start;
    const { tail } = list;
    if (tail !== null && tail.start <= from) return tail.items.slice(from - tail.start, count - tail.start);
    const pieces: unknown[][] = [list.added.map((text) => JSON.parse(text) as unknown)];
    let bytes = list.added.join().length;
    let first = list.count;
    for (let at = list.last; at !== null && first > from; ) {
      const row = this.table.items(at);
      pieces.push(JSON.parse(row.items) as unknown[]);
      bytes += row.items.length;
      first = row.start;
      at = row.previous;
    }
    const found = pieces.reverse().flat();
    if (bytes <= TAIL_BYTES_MAX) {
      list.tail = { start: first, items: found.map(frozen), bytes };
      this.#held.size += bytes - (tail?.bytes ?? 0);
    }
    return found.slice(from - first);
  }

  /** Replaces the version of a document, until the change is undone. */
  change(entry: HeldEntry, version: Version | null): void {
    this.#undo.push({ entry, version: entry.version, wasDirty: entry.isDirty });
    this.replace(entry, version);
    entry.isDirty = true;
    this.dirty.add(entry);
  }

  /** Replaces the version of a document in memory. */
  replace(entry: HeldEntry, version: Version | null): void {
    const { shelf } = entry;
    if (shelf.indexes !== null)
      movePlaces(shelf.indexes, listPlaces(entry, entry.version), listPlaces(entry, version));
    this.#held.size += measureSize(version) - measureSize(entry.version);
    entry.version = version;
  }

  /**
   * Ends a run: from now on, nobody else has a part of the documents that it has put.
   * @returns those that differ from what they were before
   */
  finishSince({ changes }: Mark): HeldEntry[] {
    const changed: HeldEntry[] = [];
    for (let at = changes; at < this.#undo.length; at++) {
      const { entry, version: before, wasDirty } = this.#undo[at] as Undo;
      if (entry.version?.text === '') this.#own(entry.shelf, entry.version);
      if (!wasDirty && isSame(before, entry.version)) {
        entry.isDirty = false;
        this.dirty.delete(entry);
      }
      if (entry.isDirty) changed.push(entry);
    }
    return changed;
  }

  #own(shelf: Shelf, version: Version): void {
    if (this.isOnlyInMemory(shelf)) {
      version.doc = copyOf(version.doc);
      return;
    }
    version.text = JSON.stringify(version.doc);
    if (!shelf.kind?.isUnshared) version.doc = undefined;
    this.#held.size += version.text.length;
  }

  /** The position of the next change, for `undoTo`. */
  get mark(): Mark {
    return { changes: this.#undo.length, drops: this.drops.length };
  }

  /** Whether a change since the mark is on top of one that is not committed, so that undoing that one undoes both. */
  isOnUncommitted({ changes }: Mark): boolean {
    const seen = new Set<HeldEntry>();
    return this.#undo.slice(changes).some(({ entry, wasDirty }) => {
      const isFirst = !seen.has(entry);
      seen.add(entry);
      return isFirst && wasDirty;
    });
  }

  /** The changes since the mark are only in memory, and are never undone. */
  keepSince({ changes }: Mark): void {
    for (const { entry } of this.#undo.splice(changes)) {
      entry.isDirty = false;
      this.dirty.delete(entry);
    }
  }

  undoTo({ changes, drops }: Mark): void {
    this.drops.length = drops;
    while (this.#undo.length > changes) {
      const { entry, version, wasDirty } = this.#undo.pop() as Undo;
      this.replace(entry, version);
      entry.isDirty = wasDirty;
      if (wasDirty) continue;
      this.dirty.delete(entry);
      this.awaited.delete(entry);
    }
  }

  /** The changes were written, or need not be. They can no longer be undone one by one. */
  settle(): void {
    for (const entry of this.dirty) entry.isDirty = false;
    // A set that is cleared would keep its documents in memory for a while (`LiveMap`).
    this.dirty = new Set();
    this.awaited = new Set();
  }

  /** The changes are on disk now. */
  committed(): void {
    this.settle();
    this.#undo.length = 0;
    this.dropUnused();
  }

  /** Drops documents from memory if they take too much. Called after each step or commit. */
  dropUnused(): void {
    this.#held.dropUnused(
      (entry) => !this.isOnlyHere(entry),
      (entry) => this.#remove(entry),
    );
  }

  /** A document is now in the table and no longer in the journal. */
  leaveJournal(entry: HeldEntry, stored: StoredRow | null): void {
    entry.row = 0;
    entry.stored = stored;
    const { shelf } = entry;
    const name = entry.version?.name ?? null;
    if (name !== null && shelf.indexes !== null)
      for (const place of listPlaces(entry, entry.version))
        if (place.index === name) removePlace(shelf.indexes, place);
  }

  /** Counts what the document now takes on disk. */
  count(entry: HeldEntry): void {
    if (this.#anonymous === null) return;
    const before = entry.counted;
    entry.counted = this.#anonymous.measure(entry);
    if (before !== null) this.#anonymous.subtract([before]);
    if (entry.counted !== null) this.#anonymous.add([entry.counted]);
  }

  /** A document has expired, and its row was deleted. */
  forget(entry: HeldEntry): void {
    this.replace(entry, null);
    this.count(entry);
    this.#remove(entry);
  }

  /** Undoes all changes, and forgets everything that is on disk. */
  reset(): void {
    this.table.forget();
    this.undoTo(NO_CHANGES);
    this.settle();
    for (const shelf of this.#shelves.values()) {
      for (const entry of shelf.entries.values())
        if (this.isOnlyInMemory(shelf)) entry.row = 0;
        else this.#remove(entry);
      if (!this.isOnlyInMemory(shelf)) shelf.indexes = null;
    }
  }

  #take(shelf: Shelf, key: string, hash: number, row: DocumentRow | undefined): HeldEntry {
    const stored = row === undefined ? null : toStoredRow(row);
    const version = row === undefined ? null : toVersion(row);
    const entry = this.#add(shelf, key, version, stored);
    entry.hash = hash;
    return entry;
  }

  #add(shelf: Shelf, key: string, version: Version | null, stored: HeldEntry['stored']): HeldEntry {
    const unused = { row: 0, isDirty: false, counted: null, next: null, previous: null };
    const entry: HeldEntry = { shelf, key, hash: Number.NaN, version, stored, isUsed: true, ...unused };
    entry.counted = this.#anonymous?.measure(entry) ?? null;
    shelf.entries.set(key, entry);
    this.#held.add(entry);
    this.#held.size += measureSize(version);
    return entry;
  }

  #remove(entry: HeldEntry): void {
    entry.shelf.entries.delete(entry.key);
    this.#held.remove(entry);
    this.#held.size -= measureSize(entry.version);
  }

  #loadIndexes(shelf: Shelf): Indexes {
    if (shelf.indexes !== null) return shelf.indexes;
    const rows = this.table.live(shelf.name);
    const indexes: Indexes = new Map();
    shelf.indexes = indexes;
    const isHere = (entry: HeldEntry | undefined) =>
      entry !== undefined && (entry.row !== 0 || entry.isDirty);
    for (const row of rows) {
      const { key } = row;
      if (isHere(shelf.entries.get(key))) continue;
      for (const place of listPlaces({ shelf, key }, toVersion(row)))
        if (place.index !== row.name) addPlace(indexes, place);
    }
    for (const entry of shelf.entries.values())
      if (isHere(entry)) for (const place of listPlaces(entry, entry.version)) addPlace(indexes, place);
    return indexes;
  }
}

/** Whether two versions are one on disk. */
function isSame(one: Version | null, other: Version | null): boolean {
  return one !== null && one.text !== '' && one.text === other?.text && one.list === other.list;
}
