import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { NO_ITEMS, type Version } from './version.ts';

/** A row of the table `docs`. */
export interface DocumentRow {
  id: number;
  key: string;
  doc: string;
  expires_at: number | null;
  live: number | null;
  name: string | null;
  client: string | null;
  look_at: number | null;
  last_item: number | null;
  items: number;
  item_bytes: number;
}

/** What the row of a document in `docs` has in its indexes. */
export type StoredRow = Pick<Version, 'isLive' | 'name' | 'client'> & { id: number; look_at: number | null };

const COLUMNS = 'id, key, doc, expires_at, live, name, client, look_at, last_item, items, item_bytes';

export function toVersion(row: DocumentRow): Version {
  const { doc: text, expires_at, live, name, client, last_item: last, items: count, item_bytes: bytes } = row;
  const list = last === null ? NO_ITEMS : { last, count, bytes, added: [], tail: null };
  return { doc: undefined, text, expires_at, isLive: live === 1, name, client, list, places: null };
}

export function toStoredRow({ id, live, name, client, look_at }: DocumentRow): StoredRow {
  return { id, isLive: live === 1, name, client, look_at };
}

/** How many hashes the keys of a kind have. */
const KEYS = 2 ** 44;
const FIRST_HASHES = new Map<string, number>();

/**
 * The hash by which the table finds the documents of a kind with this key or name: 8 bits of the kind, so that its
 * documents are next to each other in the index, and 44 bits of the key.
 */
export function hashOf(kind: string, name: string): number {
  return firstHash(kind) + Number.parseInt(hash('sha256', `${kind}\n${name}`, 'hex').slice(0, 11), 16);
}

/** The lowest hash of a kind. */
export function firstHash(kind: string): number {
  let first = FIRST_HASHES.get(kind);
  if (first === undefined) {
    first = Number.parseInt(hash('sha256', kind, 'hex').slice(0, 2), 16) * KEYS;
    FIRST_HASHES.set(kind, first);
  }
  return first;
}

/** The position of a document in the order of the table's hashes. */
export interface Position {
  /** Of its key (`hashOf`). */
  hash: number;
  /** Its row. */
  id: number;
}

/** A document that the sweeper looks at. */
interface ExpiredRow {
  id: number;
  kind: string;
  key: string;
  expires_at: number;
}

/** The tables `docs` and `items`. Whatever writes to them is called within a transaction. */
export class Table {
  readonly #beforeRead: () => void;
  /** By kind. */
  readonly #filters = new Map<string, KeyFilter>();
  readonly #statements;

  /** @param beforeRead is called before the tables are read. */
  constructor(db: Database.Database, beforeRead: () => void) {
    this.#beforeRead = beforeRead;
    this.#statements = {
      find: db.prepare<[string, number, string], DocumentRow>(
        `SELECT ${COLUMNS} FROM docs INDEXED BY docs_by_key WHERE kind = ? AND key_hash = ? AND key = ?`,
      ),
      hashes: db
        .prepare<[number, number, number], number>(
          `SELECT key_hash FROM docs INDEXED BY docs_by_key
           WHERE key_hash >= ? AND key_hash < ? ORDER BY key_hash LIMIT ?`,
        )
        .pluck(),
      live: db.prepare<[string], DocumentRow>(
        `SELECT ${COLUMNS} FROM docs INDEXED BY docs_live WHERE kind = ? AND live = 1`,
      ),
      named: db
        .prepare<[number, string, string], string>(
          'SELECT key FROM docs INDEXED BY docs_by_name WHERE name_hash = ? AND kind = ? AND name = ?',
        )
        .pluck(),
      positions: db.prepare<[number, number, number, number], Position>(
        `SELECT key_hash AS hash, id FROM docs INDEXED BY docs_by_key
         WHERE (key_hash, id) > (?, ?) AND key_hash < ? ORDER BY key_hash, id LIMIT ?`,
      ),
      rows: db.prepare<[string, string], DocumentRow>(
        `SELECT ${COLUMNS} FROM docs WHERE id IN (SELECT value FROM json_each(?)) AND kind = ?`,
      ),
      items: db.prepare<[number], { previous: number | null; start: number; items: string }>(
        'SELECT previous, start, items FROM items WHERE id = ?',
      ),
      add: db.prepare<unknown[]>(
        `INSERT INTO docs (kind, key, key_hash, live, name, name_hash, client, expires_at, look_at, last_item, items,
           item_bytes, doc)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      put: db.prepare<unknown[]>(
        `UPDATE docs SET live = ?, name = ?, name_hash = ?, client = ?, expires_at = ?, look_at = ?, last_item = ?,
           items = ?, item_bytes = ?, doc = ? WHERE id = ? AND kind = ? AND key = ?`,
      ),
      change: db.prepare<unknown[]>(
        `UPDATE docs SET expires_at = ?, last_item = ?, items = ?, item_bytes = ?, doc = ?
         WHERE id = ? AND kind = ? AND key = ?`,
      ),
      remove: db.prepare<[number, string, string]>('DELETE FROM docs WHERE id = ? AND kind = ? AND key = ?'),
      expired: db.prepare<[number, number], ExpiredRow>(
        'SELECT id, kind, key, expires_at FROM docs WHERE look_at <= ? LIMIT ?',
      ),
      hasten: db.prepare<[number]>('UPDATE docs SET look_at = expires_at WHERE expires_at <= ?'),
      postpone: db.prepare<[number, number]>('UPDATE docs SET look_at = ? WHERE id = ?'),
      insertItems: db.prepare<[number | null, number, string]>(
        'INSERT INTO items (previous, start, items) VALUES (?, ?, ?)',
      ),
      deleteItems: db
        .prepare<[number], number | null>('DELETE FROM items WHERE id = ? RETURNING previous')
        .pluck(),
    };
  }

  /** Another process may have written. */
  forget(): void {
    this.#filters.clear();
  }

  /** Whether there is certainly no document of this kind. */
  isEmpty(kind: string): boolean {
    return this.#filter(kind).isEmpty;
  }

  /** @param hash `hashOf` of the kind and the key */
  find(kind: string, key: string, hash: number): DocumentRow | undefined {
    if (!this.#filter(kind).mayHave(hash)) return undefined;
    this.#beforeRead();
    return this.#statements.find.get(kind, hash, key);
  }

  #filter(kind: string): KeyFilter {
    let filter = this.#filters.get(kind);
    if (filter === undefined) {
      const first = firstHash(kind);
      filter = new KeyFilter(first, (from, limit) => {
        this.#beforeRead();
        return this.#statements.hashes.all(from, first + KEYS, limit);
      });
      this.#filters.set(kind, filter);
    }
    return filter;
  }

  /** The documents with places in ordered indexes. */
  live(kind: string): DocumentRow[] {
    this.#beforeRead();
    return this.#statements.live.all(kind);
  }

  /** The keys of the documents with this name. */
  named(kind: string, name: string): string[] {
    this.#beforeRead();
    return this.#statements.named.all(hashOf(kind, name), kind, name);
  }

  /**
   * The positions of the next documents of a kind in the order of their hashes. Some documents are of another kind.
   * @param after null to begin
   */
  positions(kind: string, after: Position | null, limit: number): Position[] {
    this.#beforeRead();
    const first = firstHash(kind);
    return this.#statements.positions.all(after?.hash ?? first - 1, after?.id ?? 0, first + KEYS, limit);
  }

  /** The documents of a kind in these rows, in the order of the rows if the ids are. */
  rows(kind: string, ids: readonly number[]): DocumentRow[] {
    this.#beforeRead();
    return this.#statements.rows.all(JSON.stringify(ids), kind);
  }

  /** The row of a list. */
  items(id: number): { previous: number | null; start: number; items: string } {
    this.#beforeRead();
    const row = this.#statements.items.get(id);
    if (row === undefined) throw new Error('a row of a list is missing');
    return row;
  }

  /**
   * Writes a document.
   * @param hash `hashOf` of the kind and the key
   * @param stored its row, if it has one
   * @returns its row now
   */
  write(kind: string, key: string, hash: number, version: Version, stored: StoredRow | null): StoredRow {
    const { expires_at, isLive, name, client, text } = version;
    const { last, count, bytes } = version.list;
    const { change, put, add } = this.#statements;
    if (
      stored &&
      hasSamePlaces(stored, version) &&
      change.run(expires_at, last, count, bytes, text, stored.id, kind, key).changes > 0
    )
      return stored;
    const name_hash = name === null ? null : hashOf(kind, name);
    const places = [isLive ? 1 : null, name, name_hash, client, expires_at, expires_at] as const;
    const content = [last, count, bytes, text] as const;
    let id = stored?.id ?? 0;
    // The row is missing if another process has deleted it.
    if (!stored || put.run(...places, ...content, id, kind, key).changes === 0) {
      id = Number(add.run(kind, key, hash, ...places, ...content).lastInsertRowid);
      this.#filters.get(kind)?.add(hash);
    }
    return { id, isLive, name, client, look_at: expires_at };
  }

  remove(id: number, kind: string, key: string): void {
    this.#statements.remove.run(id, kind, key);
  }

  /** Documents that the sweeper should look at now. */
  expired(now: number, limit: number): ExpiredRow[] {
    return this.#statements.expired.all(now, limit);
  }

  /** Lets the sweeper look at all documents that have expired. */
  hasten(now: number): void {
    this.#statements.hasten.run(now);
  }

  /** The sweeper looks at a document later. */
  postpone(id: number, look_at: number): void {
    this.#statements.postpone.run(look_at, id);
  }

  /** Adds a row to a list. @returns its id. */
  insertItems(previous: number | null, start: number, items: string): number {
    return Number(this.#statements.insertItems.run(previous, start, items).lastInsertRowid);
  }

  /** Deletes the rows of a list. @returns how many. */
  dropItems(last: number | null): number {
    let dropped = 0;
    for (let at: number | null | undefined = last; at !== null && at !== undefined; dropped++)
      at = this.#statements.deleteItems.get(at);
    return dropped;
  }
}

/** Whether only columns without an index have changed, or the sweeper looks at the row early enough anyway. */
function hasSamePlaces(stored: StoredRow, { isLive, name, client, expires_at }: Version): boolean {
  if (stored.isLive !== isLive || stored.name !== name || stored.client !== client || client !== null)
    return false;
  return (
    stored.look_at === expires_at ||
    (stored.look_at !== null && expires_at !== null && stored.look_at < expires_at)
  );
}

/** How many hashes are read at once. It limits how long the event loop is blocked. */
const SLICE = 1000;
/** How many bits a filter has at first and at most. A half of a hash is the number of one of 2^22 bits. */
const BITS_MIN = 2 ** 14;
const BITS_MAX = 2 ** 22;
/** With fewer bits for each key than this, a filter begins anew with more bits. */
const BITS_PER_KEY = 8;
const GROWTH = 16;

/**
 * Says which keys of a kind the table certainly does not have, so that it is not searched in vain: most documents that a
 * message puts are new. It is a Bloom filter over the hashes of the keys (`hashOf`), which it reads little by little.
 */
export class KeyFilter {
  readonly #first: number;
  readonly #end: number;
  readonly #read: (from: number, limit: number) => number[];
  #bits = new Uint8Array(BITS_MIN / 8);
  #count = 0;
  /** All hashes below this are in the filter. */
  #read_to: number;

  /**
   * @param first the lowest hash of the kind
   * @param read reads the hashes of the kind, from this one on, in ascending order
   */
  constructor(first: number, read: (from: number, limit: number) => number[]) {
    this.#first = first;
    this.#end = first + KEYS;
    this.#read_to = first;
    this.#read = read;
  }

  /** Whether the table certainly has no key at all. */
  get isEmpty(): boolean {
    return this.#count === 0 && this.#read_to === this.#end;
  }

  mayHave(hash: number): boolean {
    this.#readOn();
    if (hash >= this.#read_to) return true;
    const [one, other] = this.#halves(hash);
    return this.#isSet(one) && this.#isSet(other);
  }

  /** The table has this key now. */
  add(hash: number): void {
    for (const bit of this.#halves(hash))
      this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] as number) | (1 << (bit & 7));
    this.#count++;
    const bits = this.#bits.length * 8;
    if (bits >= this.#count * BITS_PER_KEY || bits === BITS_MAX) return;
    this.#bits = new Uint8Array((bits * GROWTH) / 8);
    this.#count = 0;
    this.#read_to = this.#first;
  }

  #readOn(): void {
    if (this.#read_to === this.#end) return;
    const hashes = this.#read(this.#read_to, SLICE);
    this.#read_to = hashes.length < SLICE ? this.#end : (hashes.at(-1) as number);
    for (const hash of hashes) this.add(hash);
  }

  #halves(hash: number): [number, number] {
    const key = hash - this.#first;
    const mask = this.#bits.length * 8 - 1;
    return [(key % BITS_MAX) & mask, Math.floor(key / BITS_MAX) & mask];
  }

  #isSet(bit: number): boolean {
    return ((this.#bits[bit >>> 3] as number) & (1 << (bit & 7))) !== 0;
  }
}
