import type Database from 'better-sqlite3';
import { ANONYMOUS_KINDS, type AnonymousKind } from '../../anonymous.ts';
import type { KeptTrace } from '../../traces.ts';
import type { Ring, Tx } from '../kernel.ts';
import type { HeldEntry } from './documents.ts';
import type { Journal } from './journal.ts';
import type { ClientBytes, Records } from './records.ts';

/**
 * Deletion continues until the total is below this share of the limit. Otherwise every message would start another
 * deletion.
 */
const ENOUGH = 0.98;
/** A commit that has deleted this many documents deletes no more once the total is within the limit. */
const BITE = 500;
/** How many clients are looked at together: the largest clients, in order of size. */
const CANDIDATES = 64;
/** How long a commit counts at most, ms. The event loop stands still meanwhile, and a large store takes many commits. */
const COUNTING_MS = 5;
/** How many rows are counted together. */
const ROWS = 200;
/** For how long nothing is counted or deleted after a commit that found no space, ms. */
const PUT_OFF_MS = 60_000;
/** Approximately what a document takes besides its texts, bytes. */
const DOCUMENT_BYTES = 250;

const KINDS = new Map(ANONYMOUS_KINDS.map((one) => [one.kind.name, one]));

/** Something of an anonymous client that can be deleted. */
interface Idle {
  readonly idle_since: number;
  readonly bytes: number;
  /** A document, or a record of a ring. */
  readonly what: { of: AnonymousKind; key: string; doc: unknown } | { ring: Ring<never>; record: string };
}

interface CountedRow {
  id: number;
  kind: string;
  client: string | null;
  bytes: number;
  items: number;
}

interface Room {
  journal: Journal;
  records: Records;
}

/** What each anonymous client has stored. */
class Count {
  readonly bytes = new Map<string, number>();
  total = 0;

  add(client: string, bytes: number): void {
    const now = (this.bytes.get(client) ?? 0) + bytes;
    if (now > 0) this.bytes.set(client, now);
    else this.bytes.delete(client);
    this.total += bytes;
  }
}

/**
 * Counts the bytes that each anonymous client has stored, and limits the total (ANONYMOUS_STORE_BYTES). The counters are
 * in memory. After the start, and if another process may have changed the tables, the bytes are counted again, but only
 * near the limit, because this reads every document: each commit counts a little. What is counted may be wrong by what
 * changes meanwhile.
 */
export class AnonymousBytes {
  readonly #max: number;
  /** Null until the bytes were counted for the first time. */
  #count: Count | null = null;
  /** The count that is under way, with the changes since it began, and its remaining steps. */
  #counting: { count: Count; steps: Iterator<void> } | null = null;
  readonly #lastRow;
  readonly #rows;
  readonly #idle;
  readonly #used;
  #isExact = false;
  #putOffUntil = Number.NEGATIVE_INFINITY;
  /** Whether the last commit has counted or deleted. */
  #isAtWork = false;
  rings: readonly Ring<never>[] = [];

  /** @param max ANONYMOUS_STORE_BYTES */
  constructor(db: Database.Database, max: number) {
    this.#max = max;
    this.#lastRow = db.prepare<[], number>('SELECT ifnull(max(id), 0) FROM docs').pluck();
    this.#rows = db.prepare<[number], CountedRow>(
      `SELECT id, kind, client, ${DOCUMENT_BYTES} + octet_length(doc) + item_bytes AS bytes, items
       FROM docs WHERE id > ? ORDER BY id LIMIT ${ROWS}`,
    );
    this.#used = db
      .prepare<[], number>(
        `SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
      )
      .pluck();
    this.#idle = db.prepare<
      [string, string, number],
      { key: string; doc: string; items: number; bytes: number }
    >(
      `SELECT key, doc, items, ${DOCUMENT_BYTES} + octet_length(doc) + item_bytes AS bytes FROM docs
       WHERE client = ? AND kind = ? AND expires_at IS NOT NULL ORDER BY expires_at LIMIT ?`,
    );
  }

  /** What a document takes; null if it does not count for an anonymous client. */
  measure({ shelf, version }: HeldEntry): ClientBytes | null {
    if (version === null || version.client === null) return null;
    const { text, client, list } = version;
    const bytes = DOCUMENT_BYTES + Buffer.byteLength(text) + list.bytes;
    return { client, bytes: bytes + itemBytes(shelf.name, list.count) };
  }

  add(sizes: readonly ClientBytes[]): void {
    for (const { client, bytes } of sizes) this.#add(client, bytes);
  }

  subtract(sizes: readonly ClientBytes[]): void {
    for (const { client, bytes } of sizes) this.#add(client, -bytes);
  }

  /** The counters are no longer known to be right. */
  forget(): void {
    this.#isExact = false;
  }

  /**
   * Call this after a commit found no space: counting and deleting need space in the log before they free any, because
   * they move the whole journal. Meanwhile the sweeper moves it, a few documents at a time.
   * @returns whether the commit has tried it.
   */
  putOff(): boolean {
    if (!this.#isAtWork) return false;
    this.#putOffUntil = performance.now() + PUT_OFF_MS;
    return true;
  }

  /**
   * Within a transaction that has written all changes: deletes documents and records while the total exceeds the limit.
   * @param change runs a step and writes what it has changed
   */
  makeRoom({ journal, records }: Room, now: number, change: (work: (tx: Tx) => void) => void): void {
    // They have stored no more than everybody, which is quickly read.
    const atMost = this.#count?.total ?? (this.#used.get() as number);
    this.#isAtWork = atMost > this.#max * ENOUGH && performance.now() >= this.#putOffUntil;
    if (!this.#isAtWork || !this.#hasCounted({ journal, records }, now)) return;
    const count = this.#count as Count;
    if (count.total <= this.#max) return;
    let deleted = 0;
    while (count.total > this.#max || (count.total > this.#max * ENOUGH && deleted < BITE)) {
      // Now the table has all documents.
      journal.empty(now);
      const chosen = this.#choose(count, records);
      if (chosen.length === 0) return;
      deleted += chosen.length;
      change((tx) => {
        for (const { what } of chosen) if ('of' in what) what.of.evict(tx, what.key, what.doc);
      });
      this.#deleteRecords(records, chosen);
    }
  }

  #add(client: string | null, bytes: number): void {
    if (client === null) return;
    this.#count?.add(client, bytes);
    this.#counting?.count.add(client, bytes);
  }

  /** Counts a little more, unless the count is exact. @returns whether it is. */
  #hasCounted({ journal, records }: Room, now: number): boolean {
    if (this.#isExact) return true;
    if (this.#counting === null) {
      // Now the table has all documents.
      journal.empty(now);
      const count = new Count();
      this.#counting = { count, steps: this.#countIn(count, records) };
    }
    const until = performance.now() + COUNTING_MS;
    const { count, steps } = this.#counting;
    while (steps.next().done !== true) if (performance.now() >= until) return false;
    this.#count = count;
    this.#counting = null;
    this.#isExact = true;
    return true;
  }

  *#countIn(count: Count, records: Records): Generator<void> {
    // What is written later is added then.
    const last = this.#lastRow.get() as number;
    for (let after = 0; after < last; ) {
      const rows = this.#rows.all(after);
      for (const { id, kind, client, bytes, items } of rows)
        if (client !== null && id <= last) count.add(client, bytes + itemBytes(kind, items));
      after = rows.at(-1)?.id ?? last;
      yield;
    }
    for (const ring of this.rings)
      for (const { client, bytes } of records.sizes(ring)) {
        if (client !== null) count.add(client, bytes);
        yield;
      }
  }

  /**
   * Takes the largest clients in turn, and of each what has been idle longest, until the client has less than the next
   * one.
   */
  #choose(count: Count, records: Records): Idle[] {
    const largest = [...count.bytes].sort(([, one], [, other]) => other - one).slice(0, CANDIDATES);
    const logged = this.#logged(records, new Set(largest.map(([client]) => client)));
    const chosen: Idle[] = [];
    let { total } = count;
    for (const [place, [client, size]] of largest.entries()) {
      const down_to = largest[place + 1]?.[1] ?? 0;
      let left = size;
      const idle = [...this.#findIdle(client), ...(logged.get(client) ?? [])];
      for (const one of idle.sort((a, b) => a.idle_since - b.idle_since)) {
        chosen.push(one);
        left -= one.bytes;
        total -= one.bytes;
        if (left < down_to || total <= this.#max * ENOUGH || chosen.length >= BITE) break;
      }
      if (total <= this.#max * ENOUGH || chosen.length >= BITE) break;
    }
    return chosen;
  }

  #findIdle(client: string): Idle[] {
    return ANONYMOUS_KINDS.flatMap((of) =>
      this.#idle.all(client, of.kind.name, BITE).flatMap(({ key, doc: text, items, bytes }) => {
        const doc: unknown = JSON.parse(text);
        const idle_since = of.idleSince(doc);
        if (idle_since === null) return [];
        return { idle_since, bytes: bytes + itemBytes(of.kind.name, items), what: { of, key, doc } };
      }),
    );
  }

  #logged(records: Records, clients: ReadonlySet<string>): Map<string, Idle[]> {
    const found = new Map<string, Idle[]>();
    for (const ring of this.rings) {
      let left = BITE;
      for (const { client, bytes, kept_at, record } of records.sizes(ring)) {
        if (client === null || !clients.has(client)) continue;
        const all = found.get(client) ?? [];
        found.set(client, all);
        all.push({ idle_since: kept_at, bytes, what: { ring, record: JSON.stringify(record) } });
        if (--left === 0) break;
      }
    }
    return found;
  }

  /** Deletes the chosen records, and the traces of the chosen sessions. */
  #deleteRecords(records: Records, chosen: readonly Idle[]): void {
    const texts = new Set(chosen.flatMap(({ what }) => ('record' in what ? [what.record] : [])));
    const sessions = new Set(
      chosen.flatMap(({ what }) => ('of' in what ? (what.of.sessions?.(what.doc) ?? []) : [])),
    );
    for (const ring of this.rings) {
      if (texts.size > 0 && ring.client !== undefined)
        this.subtract(records.delete(ring, (record) => texts.has(JSON.stringify(record))));
      if (sessions.size > 0) {
        const isTheirs = ({ trace }: KeptTrace) =>
          trace.session_id !== null && sessions.has(trace.session_id);
        this.subtract(records.delete(ring as unknown as Ring<KeptTrace>, isTheirs, sessions));
      }
    }
  }
}

function itemBytes(kind: string, items: number): number {
  return items * (KINDS.get(kind)?.item_bytes ?? 0);
}
