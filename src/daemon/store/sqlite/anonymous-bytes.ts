import type Database from 'better-sqlite3';
import type { Resident } from './writer.ts';

/** Approximate size of a row and its index entries without its texts, bytes. */
export const SESSION_BYTES = 600;
export const TURN_BYTES = 500;

/**
 * Deletion continues until the total is below this share of the limit. Otherwise every message would start another
 * deletion.
 */
const ENOUGH = 0.98;
/** A commit that has deleted this many rows deletes no more rows once the total is within the limit. */
const BITE = 500;
/** How many clients a scan of all clients returns: the largest clients, in order of size. */
const CANDIDATES = 64;

/** Deletes sessions with their turns and traces, to make room for others. */
export interface EvictedSessions {
  /** Within a commit: deletes a session. @returns the number of deleted rows. */
  evict(id: number): number;
}

interface Size {
  client: string;
  bytes: number;
}

/**
 * Counts the bytes that each anonymous client has stored, and limits the total. The counters are in memory. If another
 * process may have changed the sessions, the bytes are counted again, but only near the limit, because this reads every
 * anonymous session.
 */
export class AnonymousBytes implements Resident {
  readonly #max: number;
  readonly #evicted: EvictedSessions;
  readonly #bytes = new Map<string, number>();
  readonly #count;
  readonly #longestIdle;
  /** Infinite until the bytes are counted. */
  #total = Number.POSITIVE_INFINITY;
  #isExact = false;

  /** @param max ANONYMOUS_STORE_BYTES. */
  constructor(db: Database.Database, max: number, evicted: EvictedSessions) {
    this.#max = max;
    this.#evicted = evicted;
    this.#count = db.prepare<[], Size>(
      'SELECT client, sum(bytes) AS bytes FROM sessions WHERE client IS NOT NULL GROUP BY client',
    );
    this.#longestIdle = db
      .prepare<[string, number], number>(
        'SELECT id FROM sessions WHERE client = ? ORDER BY last_active_at, id LIMIT ?',
      )
      .pluck();
  }

  /** Within a commit: records that a client's sessions have grown by this many bytes, or have shrunk if negative. */
  add(client: string, bytes: number): void {
    const now = (this.#bytes.get(client) ?? 0) + bytes;
    if (now > 0) this.#bytes.set(client, now);
    else this.#bytes.delete(client);
    this.#total += bytes;
  }

  load(): void {
    this.#isExact = false;
  }

  /** Deletes sessions while the total exceeds the limit. */
  save(): void {
    if (this.#total <= this.#max * ENOUGH) return;
    if (!this.#isExact) this.#countAnew();
    if (this.#total <= this.#max) return;
    let rows = 0;
    while (this.#total > this.#max || (this.#total > this.#max * ENOUGH && rows < BITE)) {
      const deleted = this.#evictFromLargest();
      if (deleted === 0) return;
      rows += deleted;
    }
  }

  #countAnew(): void {
    this.#bytes.clear();
    this.#total = 0;
    this.#isExact = true;
    for (const { client, bytes } of this.#count.iterate()) this.add(client, bytes);
  }

  /**
   * Takes the largest clients in turn, and deletes the least recently active sessions of each until the client stores
   * less than the next client. @returns the number of deleted rows.
   */
  #evictFromLargest(): number {
    const largest = this.#largest();
    let rows = 0;
    for (const [place, { client }] of largest.entries()) {
      const next = largest[place + 1]?.bytes ?? 0;
      rows += this.#evictFrom(client, next);
      if (this.#total <= this.#max * ENOUGH || rows >= BITE) break;
    }
    return rows;
  }

  /** Deletes the least recently active sessions of a client, at least one. @returns the number of deleted rows. */
  #evictFrom(client: string, down_to: number): number {
    let rows = 0;
    for (const id of this.#longestIdle.all(client, BITE)) {
      rows += this.#evicted.evict(id);
      const small = (this.#bytes.get(client) ?? 0) < down_to;
      if (small || this.#total <= this.#max * ENOUGH || rows >= BITE) break;
    }
    return rows;
  }

  #largest(): Size[] {
    const largest: Size[] = [];
    for (const [client, bytes] of this.#bytes) {
      if (largest.length === CANDIDATES && bytes <= (largest.at(-1)?.bytes ?? 0)) continue;
      const place = largest.findIndex((other) => other.bytes < bytes);
      largest.splice(place < 0 ? largest.length : place, 0, { client, bytes });
      if (largest.length > CANDIDATES) largest.pop();
    }
    return largest;
  }
}
