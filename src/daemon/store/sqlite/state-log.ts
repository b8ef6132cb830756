import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { Resident } from './writer.ts';

/** Entries that may stand in the log beside those that count, before the oldest rows are written anew. */
const SLACK = 1000;

interface Entry<T> {
  state: T;
  expires_at: number;
  /** The row that it stands in; null: not written yet. */
  row: number | null;
}

/** How a state stands in a row. */
export interface Packing<T> {
  pack(state: T): unknown;
  unpack(packed: never): T;
}

type PackedEntry = [key: string, expires_at: number, state: unknown] | [key: string];

/**
 * State that changes with every message and lives for minutes: all of it in memory, and on disk as a log,
 * where what one commit changes is one row, however many keys that are. A row is deleted when it is the oldest
 * and none of its entries counts any more; those that do are written anew where the log has grown too long.
 * Always from the oldest row on, so that no older entry of a key comes to light again.
 */
export class StateLog<T> implements Resident {
  readonly #clock: Clock;
  readonly #packing: Packing<T>;
  readonly #entries = new Map<string, Entry<T>>();
  /** The keys of each row, oldest row first. */
  readonly #rows = new Map<number, readonly string[]>();
  readonly #changed = new Set<string>();
  /** Entries in all rows. */
  #written = 0;
  readonly #all;
  readonly #insert;
  readonly #delete;

  /** @param table `(id INTEGER PRIMARY KEY, entries TEXT)`. */
  constructor(db: Database.Database, table: string, packing: Packing<T>, clock: Clock) {
    this.#clock = clock;
    this.#packing = packing;
    this.#all = db.prepare<[], { id: number; entries: string }>(
      `SELECT id, entries FROM ${table} ORDER BY id`,
    );
    this.#insert = db.prepare<[string]>(`INSERT INTO ${table} (entries) VALUES (?)`);
    this.#delete = db.prepare<[number]>(`DELETE FROM ${table} WHERE id = ?`);
  }

  /** Null where there is none, or its time has passed. What it gives is never changed, only put anew. */
  get(key: string, now: number): T | null {
    const entry = this.#entries.get(key);
    return entry && entry.expires_at > now ? entry.state : null;
  }

  *live(now: number): Generator<[key: string, state: T]> {
    for (const [key, { state, expires_at }] of this.#entries) if (expires_at > now) yield [key, state];
  }

  /** Within a commit. It never expires earlier than it was to expire before. */
  put(key: string, state: T, expires_at: number): void {
    const before = this.#entries.get(key)?.expires_at ?? 0;
    this.#entries.set(key, { state, expires_at: Math.max(before, expires_at), row: null });
    this.#changed.add(key);
  }

  /** Within a commit. */
  delete(key: string): void {
    if (this.#entries.delete(key)) this.#changed.add(key);
  }

  /** Within a commit: forgets what has expired, a row at a time until it was `bite`. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const before = this.#entries.size;
    for (const [row, keys] of this.#rows) {
      if (before - this.#entries.size >= bite) break;
      if (keys.some((key) => this.#counts(key, row, now))) break;
      this.#drop(row, keys, now);
    }
    return before - this.#entries.size;
  }

  load(): void {
    this.#entries.clear();
    this.#rows.clear();
    this.#changed.clear();
    this.#written = 0;
    for (const { id, entries } of this.#all.all()) {
      const packed = JSON.parse(entries) as PackedEntry[];
      for (const [key, expires_at, state] of packed) {
        if (expires_at === undefined) this.#entries.delete(key);
        else this.#entries.set(key, { state: this.#packing.unpack(state as never), expires_at, row: id });
      }
      this.#note(
        id,
        packed.map(([key]) => key),
      );
    }
  }

  save(): void {
    if (this.#changed.size === 0) return;
    this.#shorten();
    const keys = [...this.#changed];
    const found = keys.map((key) => this.#entries.get(key));
    const packed = found.map((entry, place): PackedEntry => {
      const key = keys[place] as string;
      return entry ? [key, entry.expires_at, this.#packing.pack(entry.state)] : [key];
    });
    const row = Number(this.#insert.run(JSON.stringify(packed)).lastInsertRowid);
    for (const entry of found) if (entry) entry.row = row;
    this.#note(row, keys);
    this.#changed.clear();
  }

  /** Has the oldest rows written anew, as many entries as are written now, so that the log ends up short. */
  #shorten(): void {
    const now = this.#clock.now();
    let room = this.#changed.size + 1;
    for (const [row, keys] of this.#rows) {
      if (room <= 0 || this.#written <= 2 * this.#entries.size + SLACK) return;
      for (const key of keys) {
        const entry = this.#entries.get(key);
        if (!entry || !this.#counts(key, row, now)) continue;
        entry.row = null;
        this.#changed.add(key);
      }
      room -= keys.length;
      this.#drop(row, keys, now);
    }
  }

  /** Whether what this row says of a key still holds. */
  #counts(key: string, row: number, now: number): boolean {
    const entry = this.#entries.get(key);
    return entry?.row === row && entry.expires_at > now;
  }

  #note(row: number, keys: readonly string[]): void {
    this.#rows.set(row, keys);
    this.#written += keys.length;
  }

  #drop(row: number, keys: readonly string[], now: number): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.row === row && entry.expires_at <= now) this.#entries.delete(key);
    }
    this.#rows.delete(row);
    this.#written -= keys.length;
    this.#delete.run(row);
  }
}
