import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import type { Resident } from './writer.ts';

/**
 * The oldest rows of the log are rewritten if the log is larger than twice the current states plus this surplus, all
 * measured by `Packing.size`.
 */
export const LOG_SURPLUS = 1000;

/** How states and their changes are packed for a row. States are immutable values. */
export interface Packing<State, Change> {
  pack(state: State): unknown;
  unpack(packed: never): State;
  packChange(change: Change): unknown;
  unpackChange(packed: never): Change;
  /** The state after the change. */
  apply(state: State, change: Change): State;
  /** Approximately the number of changes that would produce the state. */
  size(state: State): number;
}

interface Entry<State> {
  state: State;
  expires_at: number;
  /**
   * The row that contains the complete state. Later rows may contain changes to it. Null if the state is not written
   * yet.
   */
  row: number | null;
  /** The size of the entry: of the state, and 1 for its key. */
  size: number;
}

/** The data that a commit writes for a key: the complete state, or the changes to it. */
type Unsaved<Change> = 'all' | Change[];

interface Row {
  keys: readonly string[];
  size: number;
}

export type PackedEntry =
  | [key: string]
  | [key: string, expires_at: number, state: unknown]
  | [key: string, expires_at: number, changes: unknown[], mark: 1];

/**
 * State that changes with every message and lasts for minutes. All of it is in memory. On disk it is a log: each commit
 * writes one row with all its changes, for any number of keys. If a state was already stored, the row can contain only
 * its changes.
 *
 * Only the oldest row can be deleted, and only when nothing in it counts anymore. So an old state of a key can never
 * take effect again. If the log becomes too long, states in the oldest rows are written again completely if they still
 * count.
 */
export class StateLog<State, Change> implements Resident {
  readonly #clock: Clock;
  readonly #packing: Packing<State, Change>;
  readonly #surplus: number;
  readonly #entries = new Map<string, Entry<State>>();
  /** The rows by their ids, oldest first. */
  readonly #rows = new Map<number, Row>();
  readonly #unsaved = new Map<string, Unsaved<Change>>();
  /** The size of all entries; `#written` is the size of all rows. */
  #size = 0;
  #written = 0;
  readonly #all;
  readonly #insert;
  readonly #delete;

  /**
   * @param table `(id INTEGER PRIMARY KEY, entries TEXT)`.
   * @param surplus `LOG_SURPLUS` except in tests.
   */
  constructor(
    db: Database.Database,
    table: string,
    packing: Packing<State, Change>,
    clock: Clock,
    surplus = LOG_SURPLUS,
  ) {
    this.#clock = clock;
    this.#surplus = surplus;
    this.#packing = packing;
    this.#all = db.prepare<[], { id: number; entries: string }>(
      `SELECT id, entries FROM ${table} ORDER BY id`,
    );
    this.#insert = db.prepare<[string]>(`INSERT INTO ${table} (entries) VALUES (?)`);
    this.#delete = db.prepare<[number]>(`DELETE FROM ${table} WHERE id = ?`);
  }

  /** The state of a key; null if there is none, or if it has expired. */
  get(key: string, now: number): State | null {
    const entry = this.#entries.get(key);
    return entry && entry.expires_at > now ? entry.state : null;
  }

  *live(now: number): Generator<[key: string, state: State, expires_at: number]> {
    for (const [key, { state, expires_at }] of this.#entries)
      if (expires_at > now) yield [key, state, expires_at];
  }

  /**
   * Within a commit: stores a state. The new state never expires earlier than the previous one.
   * @param change the change that turned the state from `get` into this one. Null: the complete state is written.
   */
  put(key: string, state: State, change: Change | null, expires_at: number): void {
    const before = this.#entries.get(key);
    const kept = { state, expires_at: Math.max(before?.expires_at ?? 0, expires_at), size: 0 };
    if (change === null || !before) {
      this.#keep(key, { ...kept, row: null });
      this.#unsaved.set(key, 'all');
      return;
    }
    this.#keep(key, { ...kept, row: before.row });
    const unsaved = this.#unsaved.get(key);
    if (unsaved === undefined) this.#unsaved.set(key, [change]);
    else if (unsaved !== 'all') unsaved.push(change);
  }

  /** Within a commit: deletes the state of a key. */
  delete(key: string): void {
    if (this.#forget(key)) this.#unsaved.set(key, 'all');
  }

  /**
   * Within a commit: forgets expired states row by row, until at least `bite` states are forgotten.
   * @returns the number of forgotten states, but at most `bite`: the last row may contain more, and callers subtract
   * the result from their limit.
   */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const before = this.#entries.size;
    // A key that is used again and again keeps its row and all later rows in the log. So if most states have expired,
    // the states that still count are written again.
    const writesAnew = 2 * this.#countLive(now) < before;
    for (const [id, row] of this.#rows) {
      if (before - this.#entries.size >= bite) break;
      if (row.keys.some((key) => this.#counts(key, id, now))) {
        if (!writesAnew || this.#unsaved.size >= bite) break;
        this.#writeAnew(id, row, now);
      }
      this.#drop(id, row, now);
    }
    return Math.min(bite, before - this.#entries.size);
  }

  load(): void {
    this.#entries.clear();
    this.#rows.clear();
    this.#unsaved.clear();
    this.#size = 0;
    this.#written = 0;
    for (const { id, entries } of this.#all.all()) {
      const packed = JSON.parse(entries) as PackedEntry[];
      const sizes = packed.map((entry) => this.#loadEntry(entry, id));
      this.#note(
        id,
        packed.map(([key]) => key),
        sum(sizes),
      );
    }
  }

  save(): void {
    if (this.#unsaved.size === 0) return;
    this.#shorten();
    const packed = [...this.#unsaved].map(([key, unsaved]) => this.#packedEntry(key, unsaved));
    const id = Number(this.#insert.run(JSON.stringify(packed)).lastInsertRowid);
    const sizes = [...this.#unsaved].map(([key, unsaved]) => {
      const entry = this.#entries.get(key);
      if (unsaved !== 'all') return unsaved.length;
      if (entry) entry.row = id;
      return entry?.size ?? 1;
    });
    this.#note(id, [...this.#unsaved.keys()], sum(sizes));
    this.#unsaved.clear();
  }

  #packedEntry(key: string, unsaved: Unsaved<Change>): PackedEntry {
    const entry = this.#entries.get(key);
    if (!entry) return [key];
    if (unsaved !== 'all')
      return [key, entry.expires_at, unsaved.map((change) => this.#packing.packChange(change)), 1];
    return [key, entry.expires_at, this.#packing.pack(entry.state)];
  }

  /** @returns the size of the entry in the row. */
  #loadEntry([key, expires_at, packed, mark]: PackedEntry, row: number): number {
    if (expires_at === undefined) {
      this.#forget(key);
      return 1;
    }
    if (mark === undefined) {
      const state = this.#packing.unpack(packed as never);
      return this.#keep(key, { state, expires_at, row, size: 0 });
    }
    const changes = packed as never[];
    const entry = this.#entries.get(key);
    if (entry) {
      const { apply, unpackChange } = this.#packing;
      const state = changes.reduce((before, change) => apply(before, unpackChange(change)), entry.state);
      this.#keep(key, { ...entry, state, expires_at });
    }
    return changes.length;
  }

  /** Marks the oldest rows to be rewritten: somewhat more than the commit adds, so that the log becomes shorter. */
  #shorten(): void {
    const now = this.#clock.now();
    let room = 2 * this.#unsaved.size + 1;
    for (const [id, row] of this.#rows) {
      if (room <= 0 || this.#written <= 2 * this.#size + this.#surplus) return;
      this.#writeAnew(id, row, now);
      room -= row.size;
      this.#drop(id, row, now);
    }
  }

  #countLive(now: number): number {
    let live = 0;
    for (const { expires_at } of this.#entries.values()) if (expires_at > now) live++;
    return live;
  }

  /** Marks the states in this row that still count, so that the commit writes them completely. */
  #writeAnew(id: number, { keys }: Row, now: number): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (!entry || !this.#counts(key, id, now)) continue;
      entry.row = null;
      this.#unsaved.set(key, 'all');
    }
  }

  /** Whether this row contains the complete state of a key, and the state still counts. */
  #counts(key: string, row: number, now: number): boolean {
    const entry = this.#entries.get(key);
    return entry?.row === row && entry.expires_at > now;
  }

  /** Stores the entry in memory. @returns its size. */
  #keep(key: string, entry: Entry<State>): number {
    const size = 1 + this.#packing.size(entry.state);
    this.#size += size - (this.#entries.get(key)?.size ?? 0);
    this.#entries.set(key, { ...entry, size });
    return size;
  }

  #forget(key: string): boolean {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    return this.#entries.delete(key);
  }

  #note(id: number, keys: readonly string[], size: number): void {
    this.#rows.set(id, { keys, size });
    this.#written += size;
  }

  #drop(id: number, { keys, size }: Row, now: number): void {
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.row === id && entry.expires_at <= now) this.#forget(key);
    }
    this.#rows.delete(id);
    this.#written -= size;
    this.#delete.run(id);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
