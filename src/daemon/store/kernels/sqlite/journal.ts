import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Documents, HeldEntry } from './documents.ts';
import type { Table } from './table.ts';
import { hasEnded, isAlive, NO_ITEMS, type Version } from './version.ts';

/** A change in the journal. */
type Change = Deletion | EndedClaim | Put;

type Deletion = readonly [kind: string, key: string];

/**
 * A claim that a command has ended or taken: the hash of its key, and the row that first said so, once that row was
 * moved.
 */
type EndedClaim = readonly [kind: string, hash: string, row: number];

type Put = readonly [
  kind: string,
  key: string,
  expires_at: number | null,
  isLive: 0 | 1,
  name: string | null,
  client: string | null,
  last_item: number | null,
  items: number,
  item_bytes: number,
  text_length: number,
];

function isEndedClaim(change: Change): change is EndedClaim {
  return change.length === 3;
}

function isDeletion(change: Change): change is Deletion {
  return change.length === 2;
}

/** The length of the document that a change has put, as JSON, characters. */
function textLength(change: Change): number {
  return isDeletion(change) || isEndedClaim(change) ? 0 : change[9];
}

interface JournalRow {
  /** The documents whose last change is in this row. */
  readonly entries: Set<HeldEntry>;
  /** What it says of claims for a daemon that may not have read it. */
  readonly ended: EndedClaim[];
  readonly size: number;
  /** Whether its documents are being moved, or were moved. */
  isLeaving: boolean;
  /** When it was written or read, by `performance.now()`. */
  readonly since: number;
}

export interface JournalBounds {
  /**
   * How long the journal may be, in characters, before a commit moves its oldest rows into the table. The longer it is,
   * the more documents change or end before they are moved, and the more of them share pages then. A process reads all
   * of it when it starts.
   */
  length: number;
  /** The fewest documents that a commit moves if it moves any. */
  bite: number;
}

/** The bounds except in tests. */
const BOUNDS: JournalBounds = { length: 4 * 1024 * 1024, bite: 32 };
/** The share of a long journal whose documents are moved in one order. */
const SHARE = 0.5;
/** A commit moves this many times as many documents as it writes. It limits how long the event loop is blocked. */
const PACE = 1.25;
/** When the sweeper looks again at a document that is in the journal, ms. By then it is in the table. */
const LOOK_AGAIN_MS = 60_000;

/**
 * The changes of documents on disk. Each commit writes one row, however many documents it changes. A document that
 * changes often, or that soon ends, is seldom or never written to the table. Other processes that use the file learn
 * from the journal what has changed.
 */
export class Journal {
  readonly #documents: Documents;
  readonly #table: Table;
  /** The rows by their ids, oldest first. */
  readonly #rows = new Map<number, JournalRow>();
  /** The documents that are being moved, the next one last. Those that have changed since then stay. */
  #moving: { readonly entry: HeldEntry; readonly row: number; readonly place: number }[] = [];
  readonly #bounds: JournalBounds;
  readonly #first;
  readonly #since;
  readonly #insert;
  readonly #delete;
  readonly #deleteAll;
  /** Of the rows whose documents are not being moved. */
  #length = 0;
  /** The newest row that was read or written; 0 if there was none. Null: everything is to be read. */
  #last: number | null = null;
  /** The newest row that was read. What it and those before it say of claims is never read again. */
  #heard = 0;
  /** The greatest number that a step has used. */
  serial = 0;

  constructor(db: Database.Database, documents: Documents, bounds = BOUNDS) {
    this.#documents = documents;
    this.#table = documents.table;
    this.#bounds = bounds;
    this.#first = db.prepare<[], number | null>('SELECT min(id) FROM journal').pluck();
    this.#since = db.prepare<[number], { id: number; serial: number; changes: string; docs: string }>(
      'SELECT id, serial, changes, docs FROM journal WHERE id > ? ORDER BY id',
    );
    this.#insert = db.prepare<[number, number, string, string]>(
      'INSERT INTO journal (id, serial, changes, docs) VALUES (?, ?, ?, ?)',
    );
    this.#delete = db.prepare<[number]>('DELETE FROM journal WHERE id = ?');
    this.#deleteAll = db.prepare<[number]>('DELETE FROM journal WHERE id < ?');
  }

  /** Reads what other processes have written. */
  read(): void {
    const first = this.#first.get() ?? 0;
    // Another process has moved rows into the table. This process may not have read them, and must not move them again.
    const [oldest] = this.#rows.keys();
    if (this.#last !== null && first > (oldest ?? this.#last + 1)) this.reset();
    this.#last ??= 0;
    for (const { id, serial, changes, docs } of this.#since.all(this.#last)) {
      this.#note(id, changes.length + docs.length);
      this.serial = Math.max(this.serial, serial);
      let read_to = 0;
      for (const change of JSON.parse(changes) as Change[]) {
        const [kind, key] = change;
        const text = docs.slice(read_to, read_to + textLength(change));
        read_to += text.length;
        const shelf = this.#documents.shelfNamed(kind);
        // A claim that a command has ended may have been taken again.
        if (id <= this.#heard && this.#documents.isOnlyInMemory(shelf)) continue;
        if (isEndedClaim(change)) {
          const [, , first_row] = change;
          this.#rows.get(id)?.ended.push(change);
          if (first_row <= this.#heard) continue;
          for (const entry of shelf.entries.values())
            if (claimHash(entry.key) === key) this.#documents.replace(entry, null);
          continue;
        }
        const entry = this.#documents.entryAnew(shelf, key);
        this.#documents.replace(entry, isDeletion(change) ? null : versionIn(change, text));
        this.#documents.count(entry);
        this.#pin(entry, id);
      }
      this.#heard = Math.max(this.#heard, id);
    }
    this.#forgetTable();
  }

  /**
   * Within a transaction: writes the changed documents, and moves the oldest rows into the table if the journal is long.
   */
  write(now: number): void {
    const { dirty, drops } = this.#documents;
    for (const last of drops) this.#table.dropItems(last);
    drops.length = 0;
    const written = [...dirty].filter(({ shelf }) => !this.#documents.isOnlyInMemory(shelf));
    this.#documents.settle();
    if (written.length === 0) return;
    const changes = JSON.stringify(written.map((entry) => this.#writeChange(entry)));
    const docs = written.map(({ version }) => version?.text ?? '').join('');
    const size = changes.length + docs.length;
    const id = this.#nextRow(size);
    for (const entry of written) {
      this.#documents.count(entry);
      this.#pin(entry, id);
    }
    // The new row takes pages that these rows leave, so that each page is written once.
    this.#shorten(written.length, size, now);
    this.#insert.run(id, this.serial, changes, docs);
  }

  /**
   * Within a transaction: moves rows that are older than this many ms, or have deleted or expired documents, into the
   * table. So nothing is left of what these documents were.
   * @param limit approximately how many documents are moved
   * @returns how many had expired
   */
  shorten(age_ms: number, limit: number, now: number): number {
    const until = performance.now() - age_ms;
    const isDue = ({ since, entries }: JournalRow) =>
      since <= until || [...entries].some(({ version }) => !isAlive(version, now));
    const rows = [...this.#rows];
    const end = rows.findLastIndex(([, row]) => isDue(row)) + 1;
    let [moved, expired] = [0, 0];
    for (const [id, row] of rows.slice(0, end)) {
      if (moved >= limit) break;
      moved += row.entries.size;
      // The newest row stays, so that no id is used twice.
      if (id === this.#last) {
        if (row.entries.size === 0) break;
        this.#append('[]');
      }
      expired += this.#moveRow(id, row, now);
    }
    return expired;
  }

  /**
   * Within a transaction: moves everything into the table, and leaves one row without names. It tells the daemon by their
   * hashes which claims it has no longer, because this process has ended or taken them.
   */
  empty(now: number): void {
    const ended = [...this.#rows].flatMap(([id, row]) => [
      ...row.ended,
      ...[...row.entries]
        .filter((entry) => this.#isForDaemon(entry))
        .map(({ shelf, key }): EndedClaim => [shelf.name, claimHash(key), id]),
    ]);
    const id = this.#append(JSON.stringify(ended));
    this.#rows.get(id)?.ended.push(...ended);
    for (const [other, row] of this.#rows) if (other !== id) this.#moveRow(other, row, now);
    this.#deleteAll.run(id);
  }

  #append(changes: string): number {
    const id = this.#nextRow(changes.length);
    this.#insert.run(id, this.serial, changes, '');
    return id;
  }

  /** The id of the next row, which is yet to be written. */
  #nextRow(size: number): number {
    const id = (this.#last ?? 0) + 1;
    this.#note(id, size);
    return id;
  }

  /** Another process may have moved documents of rows that are still here, so what the table has of them is unknown. */
  #forgetTable(): void {
    this.#table.forget();
    for (const { entries } of this.#rows.values()) for (const entry of entries) entry.stored = undefined;
  }

  /** Forgets everything, so that it is read again. */
  reset(): void {
    this.#documents.reset();
    this.#rows.clear();
    this.#moving = [];
    this.#length = 0;
    this.#last = null;
  }

  /**
   * Within a transaction: deletes documents that have expired, with their lists. Those in the journal are left to it.
   * @returns how many documents.
   */
  deleteExpired(limit: number, now: number): number {
    let [rows, deleted] = [0, 0];
    const told: Change[] = [];
    for (const { id, kind, key, expires_at } of this.#table.expired(now, limit)) {
      if (rows >= limit) break;
      const shelf = this.#documents.shelfNamed(kind);
      rows++;
      if (this.#documents.isOnlyInMemory(shelf)) {
        // A command has stored it. The claim of this process with the same key is another one.
        this.#table.remove(id, kind, key);
        deleted++;
        continue;
      }
      const entry = this.#documents.entry(shelf, key);
      if (entry.row === 0 && !entry.isDirty && expires_at <= now) {
        const last = entry.version?.list.last ?? null;
        rows += this.#table.dropItems(last);
        if (last !== null || entry.version?.isLive) told.push([kind, key]);
        this.#table.remove(id, kind, key);
        this.#documents.forget(entry);
        deleted++;
        continue;
      }
      const look_at = Math.max(expires_at, now + LOOK_AGAIN_MS);
      this.#table.postpone(id, look_at);
      if (entry.stored) entry.stored = { ...entry.stored, look_at };
    }
    // Other processes may have their places in indexes, and the rows of their lists, whose ids new lists get.
    if (told.length > 0) this.#append(JSON.stringify(told));
    return deleted;
  }

  /** Within a transaction: empties the journal, and deletes everything that has expired. */
  scrub(now: number): void {
    this.#table.hasten(now);
    this.deleteExpired(Number.MAX_SAFE_INTEGER, now);
    this.empty(now);
  }

  /**
   * Moves the documents of the oldest rows into the table, some with each commit. They share pages, because those with
   * a row there are moved in the order of these rows, and new ones in the order of the index. A row is deleted when all
   * its documents were moved, and no faster than the journal grows: a deleted page is overwritten, and should be one
   * that the new row then takes. Expired documents are left until then, because whoever reads the row would delete the
   * rows of their lists once more.
   */
  #shorten(written: number, size: number, now: number): void {
    if (this.#moving.length === 0 && this.#length > this.#bounds.length) this.#beginMoving();
    for (const { entry, row } of this.#moving.splice(-Math.max(this.#bounds.bite, Math.ceil(PACE * written))))
      if (entry.row === row && !isExpired(entry, now)) this.#move(entry, now);
    let deleted = 0;
    for (const [id, row] of this.#rows) {
      const isMoved = row.isLeaving && [...row.entries].every((entry) => isExpired(entry, now));
      if (!isMoved || deleted >= size) return;
      deleted += row.size;
      this.#moveRow(id, row, now);
    }
  }

  #beginMoving(): void {
    for (const [id, row] of this.#rows) {
      if (this.#length <= this.#bounds.length * (1 - SHARE) || !this.#mayMove(id, row)) break;
      if (row.isLeaving) continue;
      row.isLeaving = true;
      this.#length -= row.size;
      for (const entry of row.entries)
        this.#moving.push({ entry, row: id, place: entry.stored?.id ?? this.#documents.hashOf(entry) });
    }
    this.#moving.sort((one, other) => one.place - other.place);
  }

  /**
   * The newest row stays. So does a claim that the daemon may not have read yet, because it never reads one from the
   * table.
   */
  #mayMove(id: number, { ended, entries }: JournalRow): boolean {
    return id !== this.#last && ended.length === 0 && ![...entries].some((entry) => this.#isForDaemon(entry));
  }

  /** @returns how many documents had expired. */
  #moveRow(id: number, row: JournalRow, now: number): number {
    let expired = 0;
    for (const entry of row.entries) if (this.#move(entry, now)) expired++;
    this.#delete.run(id);
    this.#rows.delete(id);
    if (!row.isLeaving) this.#length -= row.size;
    return expired;
  }

  /** Moves a document into the table. @returns whether it had expired. */
  #move(entry: HeldEntry, now: number): boolean {
    const { version, shelf, key } = entry;
    this.#rows.get(entry.row)?.entries.delete(entry);
    if (this.#documents.isOnlyInMemory(shelf)) {
      entry.row = 0;
      return false;
    }
    const stored = this.#documents.storedRow(entry);
    if (version !== null && !isExpired(entry, now)) {
      const hash = this.#documents.hashOf(entry);
      this.#documents.leaveJournal(entry, this.#table.write(shelf.name, key, hash, version, stored));
      return false;
    }
    if (version !== null) {
      this.#table.dropItems(version.list.last);
      this.#documents.replace(entry, null);
      this.#documents.count(entry);
    }
    if (stored !== null) this.#table.remove(stored.id, shelf.name, key);
    this.#documents.leaveJournal(entry, null);
    return version !== null;
  }

  /** Writes the new items of a changed document. @returns its change in the journal. */
  #writeChange(entry: HeldEntry): Change {
    const { shelf, key } = entry;
    if (entry.version === null) return [shelf.name, key];
    const { list } = entry.version;
    if (list.added.length > 0) {
      const items = `[${list.added.join(',')}]`;
      const last = this.#table.insertItems(list.last, list.count, items);
      const count = list.count + list.added.length;
      entry.version = { ...entry.version, list: { ...list, last, count, added: [] } };
    }
    const { expires_at, isLive, name, client, text } = entry.version;
    const { last, count, bytes } = entry.version.list;
    const live = isLive ? 1 : 0;
    return [shelf.name, key, expires_at, live, name, client, last, count, bytes, text.length];
  }

  /** Whether it is a claim that a command has put or ended. */
  #isForDaemon({ shelf }: HeldEntry): boolean {
    return shelf.kind?.isVolatile === true && !this.#documents.isOnlyInMemory(shelf);
  }

  #note(id: number, size: number): void {
    this.#rows.set(id, { entries: new Set(), ended: [], size, isLeaving: false, since: performance.now() });
    this.#length += size;
    this.#last = id;
  }

  #pin(entry: HeldEntry, id: number): void {
    if (entry.row !== 0) this.#rows.get(entry.row)?.entries.delete(entry);
    entry.row = id;
    this.#rows.get(id)?.entries.add(entry);
  }
}

function isExpired({ version }: HeldEntry, now: number): boolean {
  return version !== null && hasEnded(version, now);
}

/** The name of a claim that was deleted. */
function claimHash(key: string): string {
  return hash('sha256', key, 'hex');
}

/** @param text the document as JSON */
function versionIn(put: Put, text: string): Version {
  const [, , expires_at, isLive, name, client, last, count, bytes] = put;
  const list = last === null ? NO_ITEMS : { last, count, bytes, added: [], tail: null };
  return { doc: undefined, text, expires_at, isLive: isLive === 1, name, client, list, places: null };
}
