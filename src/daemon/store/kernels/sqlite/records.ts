import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type Database from 'better-sqlite3';
import type { Ring, RingQuery } from '../kernel.ts';

interface Logged {
  readonly ring: Ring<never>;
  readonly text: string;
  readonly ids: readonly string[];
  readonly client: string | null;
}

interface RecordRow {
  id: number;
  kept_at: number;
  first: number;
  ids: string;
  records: Packed;
}

/** The records of a row as JSON: as text, or compressed. */
type Packed = string | Buffer;

/** The bytes that an anonymous client has stored with a record. */
export interface ClientBytes {
  client: string | null;
  bytes: number;
}

/** Approximate size of a record besides its text, bytes. */
const RECORD_BYTES = 200;
/**
 * Records with fewer characters than this are not compressed, because then they take as many pages. Records of many turns
 * are so much alike that writing the pages would cost more than compressing them.
 */
const PACKED_MIN = 8192;
/** The fastest compression that finds what the records have in common. */
const PACKING = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 } };

/** The rings. Each commit adds one row to a ring, with all its records. */
export class Records {
  /** The records that no commit has stored yet. */
  readonly logged: Logged[] = [];
  /** The number of the next record of each ring, as far as it is known. */
  readonly #next = new Map<string, number>();
  readonly #statements;

  constructor(db: Database.Database) {
    this.#statements = {
      newest: db
        .prepare<[string], number>(
          'SELECT first + count FROM records WHERE ring = ? ORDER BY id DESC LIMIT 1',
        )
        .pluck(),
      insert: db.prepare<[string, number, number, number, string, Packed]>(
        'INSERT INTO records (ring, kept_at, first, count, ids, records) VALUES (?, ?, ?, ?, ?, ?)',
      ),
      search: db.prepare<[string, number, string], RecordRow>(
        `SELECT id, kept_at, first, ids, records FROM records
         WHERE ring = ? AND kept_at > ? AND instr(ids, ?) > 0 ORDER BY id DESC`,
      ),
      all: db.prepare<[string], RecordRow>(
        'SELECT id, kept_at, first, ids, records FROM records WHERE ring = ? ORDER BY id',
      ),
      lastRow: db
        .prepare<[string], number>('SELECT id FROM records WHERE ring = ? ORDER BY id DESC LIMIT 1')
        .pluck(),
      after: db.prepare<[string, number, number], RecordRow>(
        `SELECT id, kept_at, first, ids, records FROM records
         WHERE ring = ? AND id > ? AND id <= ? ORDER BY id LIMIT 1`,
      ),
      update: db.prepare<[string, Packed, number]>('UPDATE records SET ids = ?, records = ? WHERE id = ?'),
      delete: db.prepare<[number]>('DELETE FROM records WHERE id = ?'),
      deleteOld: db
        .prepare<{ ring: string; expired: number; below: number; limit: number }, number>(
          `DELETE FROM records WHERE id IN (SELECT id FROM records WHERE ring = @ring ORDER BY id LIMIT @limit)
             AND (kept_at <= @expired OR first + count <= @below) RETURNING count`,
        )
        .pluck(),
    };
  }

  log<R>(ring: Ring<R>, record: R): void {
    const { ids, client } = ring;
    const logged = { text: JSON.stringify(record), ids: ids(record), client: client?.(record) ?? null };
    this.logged.push({ ring: ring as Ring<never>, ...logged });
  }

  /** Within a transaction: stores the new records. @returns what they take. */
  write(now: number): ClientBytes[] {
    const sizes: ClientBytes[] = [];
    for (const [ring, records] of Map.groupBy(this.logged, (logged) => logged.ring)) {
      const [texts, ids] = [records.map(({ text }) => text), records.map((record) => record.ids)];
      const first = this.#nextNumber(ring.name);
      this.#statements.insert.run(
        ring.name,
        now,
        first,
        records.length,
        JSON.stringify(ids),
        pack(`[${texts.join(',')}]`),
      );
      this.#next.set(ring.name, first + records.length);
      for (const { client, text } of records)
        if (client !== null) sizes.push({ client, bytes: countBytes(text) });
    }
    this.logged.length = 0;
    return sizes;
  }

  /** The numbers of the records must be read again. */
  forget(): void {
    this.#next.clear();
  }

  find<R>(ring: Ring<R>, { id, isFound = () => true, limit }: RingQuery<R>, now: number): R[] {
    const found: R[] = [];
    const from = this.#nextNumber(ring.name) - ring.max;
    const pattern = id === undefined ? '[' : JSON.stringify(id);
    for (const row of this.#statements.search.iterate(ring.name, now - ring.retention_ms, pattern)) {
      const records = unpack<R>(row.records);
      for (const [place, record] of [...records.entries()].reverse()) {
        if (record === null || row.first + place < from || found.length === limit) continue;
        if ((id === undefined || ring.ids(record).includes(id)) && isFound(record)) found.push(record);
      }
      if (found.length === limit || row.first < from) break;
    }
    return found.reverse();
  }

  /**
   * Within a transaction: deletes the records that are meant.
   * @param ids reads only the records with one of these ids, if given
   * @returns what was deleted
   */
  delete<R>(ring: Ring<R>, isMeant: (record: R) => boolean, ids?: ReadonlySet<string>): ClientBytes[] {
    const deleted: ClientBytes[] = [];
    for (const row of this.#statements.all.all(ring.name)) {
      const ofRow = JSON.parse(row.ids) as string[][];
      if (ids !== undefined && !ofRow.some((of) => of.some((id) => ids.has(id)))) continue;
      const records = unpack<R>(row.records).map((record, place) => {
        if (record === null || !isMeant(record)) return record;
        deleted.push({ client: ring.client?.(record) ?? null, bytes: countBytes(JSON.stringify(record)) });
        ofRow[place] = [];
        return null;
      });
      if (records.every((record) => record === null)) this.#statements.delete.run(row.id);
      else if (ofRow.some((of) => of.length === 0))
        this.#statements.update.run(JSON.stringify(ofRow), pack(JSON.stringify(records)), row.id);
    }
    return deleted;
  }

  /** Within a transaction: deletes the oldest rows. @returns the number of records. */
  sweep({ name, max, retention_ms }: Ring<never>, now: number, limit: number): number {
    const below = this.#nextNumber(name) - max;
    const deleted = this.#statements.deleteOld.all({ ring: name, expired: now - retention_ms, below, limit });
    return deleted.reduce((sum, count) => sum + count, 0);
  }

  /**
   * What the records of anonymous clients take, oldest first; other records have no client. Reads a row at a time, so that
   * the caller can go on later. Rows that are written meanwhile are left out.
   */
  *sizes<R>(ring: Ring<R>): Generator<ClientBytes & { kept_at: number; record: R }> {
    const last = this.#statements.lastRow.get(ring.name) ?? 0;
    let row = this.#statements.after.get(ring.name, 0, last);
    for (; row !== undefined; row = this.#statements.after.get(ring.name, row.id, last))
      for (const record of unpack<R>(row.records)) {
        if (record === null) continue;
        const client = ring.client?.(record) ?? null;
        const bytes = client === null ? 0 : countBytes(JSON.stringify(record));
        yield { client, bytes, kept_at: row.kept_at, record };
      }
  }

  #nextNumber(ring: string): number {
    let next = this.#next.get(ring);
    if (next === undefined) {
      next = this.#statements.newest.get(ring) ?? 0;
      this.#next.set(ring, next);
    }
    return next;
  }
}

function countBytes(text: string): number {
  return RECORD_BYTES + Buffer.byteLength(text);
}

function pack(text: string): Packed {
  return text.length < PACKED_MIN ? text : brotliCompressSync(text, PACKING);
}

function unpack<R>(packed: Packed): (R | null)[] {
  const text = typeof packed === 'string' ? packed : brotliDecompressSync(packed).toString();
  return JSON.parse(text) as (R | null)[];
}
