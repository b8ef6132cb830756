import type { Resident } from './writer.ts';

/**
 * Deletion continues until the total is below this share of the limit. Otherwise every message would start another
 * deletion.
 */
const ENOUGH = 0.98;
/** A commit that has deleted this many rows deletes no more rows once the total is within the limit. */
const BITE = 500;
/** How many clients a scan of all clients returns: the largest clients, in order of size. */
const CANDIDATES = 64;

/** The number of bytes that a client has stored. `client` is null if the data belongs to no anonymous client. */
export interface ClientSize {
  client: string | null;
  bytes: number;
}

/** A row of a client, and since when nobody has used it, ms since the epoch. */
export interface IdleRow {
  id: number;
  idle_since: number;
}

/** A table with rows of anonymous clients. All methods are called within a commit. */
export interface AnonymousRows {
  /** How much each client has stored in this table. Reads every row of an anonymous client. */
  sizes(): Iterable<ClientSize>;
  /** The rows of a client that have been idle longest, in order, at most `limit`. */
  longestIdle(client: string, limit: number): readonly IdleRow[];
  /** Deletes a row with everything that belongs to it, and calls `add`. @returns the number of deleted rows. */
  evict(id: number): number;
}

/**
 * Counts the bytes that each anonymous client has stored, and limits the total (ANONYMOUS_STORE_BYTES). The counters are
 * in memory. If another process may have changed the tables, the bytes are counted again, but only near the limit,
 * because this reads every row of an anonymous client.
 */
export class AnonymousBytes implements Resident {
  readonly #max: number;
  readonly #tables: AnonymousRows[] = [];
  readonly #bytes = new Map<string, number>();
  /** Infinite until the bytes are counted. */
  #total = Number.POSITIVE_INFINITY;
  #isExact = false;

  /** @param max ANONYMOUS_STORE_BYTES; infinite if this process enforces no limit. */
  constructor(max: number) {
    this.#max = max;
  }

  /** From now on, the rows of this table count. Must be called before the first commit. */
  include(table: AnonymousRows): void {
    this.#tables.push(table);
  }

  /**
   * Within a commit: records that a client has stored this many bytes more, or fewer if negative.
   * @param client null if the data belongs to no anonymous client.
   */
  add(client: string | null, bytes: number): void {
    if (client === null) return;
    const now = (this.#bytes.get(client) ?? 0) + bytes;
    if (now > 0) this.#bytes.set(client, now);
    else this.#bytes.delete(client);
    this.#total += bytes;
  }

  load(): void {
    this.#isExact = false;
  }

  /** Deletes rows while the total exceeds the limit. */
  save(): void {
    if (this.#max === Number.POSITIVE_INFINITY || this.#total <= this.#max * ENOUGH) return;
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
    for (const table of this.#tables) for (const { client, bytes } of table.sizes()) this.add(client, bytes);
  }

  /**
   * Takes the largest clients in turn, and deletes the longest idle rows of each until the client stores less than the
   * next client. @returns the number of deleted rows.
   */
  #evictFromLargest(): number {
    const largest = this.#largest();
    let rows = 0;
    for (const [place, [client]] of largest.entries()) {
      const next = largest[place + 1]?.[1] ?? 0;
      rows += this.#evictFrom(client, next);
      if (this.#total <= this.#max * ENOUGH || rows >= BITE) break;
    }
    return rows;
  }

  /** Deletes the longest idle rows of a client, at least one. @returns the number of deleted rows. */
  #evictFrom(client: string, down_to: number): number {
    let rows = 0;
    const idle = this.#tables
      .flatMap((table) => table.longestIdle(client, BITE).map((row) => ({ ...row, table })))
      .sort((a, b) => a.idle_since - b.idle_since);
    for (const { id, table } of idle) {
      rows += table.evict(id);
      const small = (this.#bytes.get(client) ?? 0) < down_to;
      if (small || this.#total <= this.#max * ENOUGH || rows >= BITE) break;
    }
    return rows;
  }

  #largest(): [client: string, bytes: number][] {
    const largest: [string, number][] = [];
    for (const [client, bytes] of this.#bytes) {
      if (largest.length === CANDIDATES && bytes <= (largest.at(-1)?.[1] ?? 0)) continue;
      const place = largest.findIndex(([, other]) => other < bytes);
      largest.splice(place < 0 ? largest.length : place, 0, [client, bytes]);
      if (largest.length > CANDIDATES) largest.pop();
    }
    return largest;
  }
}
