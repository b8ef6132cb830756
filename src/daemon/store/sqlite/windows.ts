import type Database from 'better-sqlite3';
import type { Hit } from '../../guard/layers.ts';
import { mostWithin } from '../../guard/most-within.ts';

interface HitRow {
  at: number;
  number: number;
}

export interface Window {
  max: number;
  window_ms: number;
}

/** Of what stands in the window now: when the first and the last happened, ms since the epoch. */
export interface WindowHit extends Hit {
  first: number;
  last: number;
}

/**
 * Exact sliding windows, the one primitive under rate limits and loop guard: one row a hit, numbered per key
 * in the order of time, so that a hit costs the same under a limit of 20 as of a million. A hit at `at`
 * counts while the time is < at + window; one that would be too many is not counted. All methods are called
 * within a commit.
 */
export class SlidingWindows {
  readonly #forgetUntil;
  readonly #forgetAll;
  readonly #forgetBelow;
  readonly #oldest;
  readonly #newest;
  readonly #firstAfter;
  readonly #nthAfter;
  readonly #around;
  readonly #stepAside;
  readonly #stepBack;
  readonly #insert;
  readonly #deleteExpired;

  constructor(db: Database.Database) {
    this.#forgetUntil = db.prepare<[string, number, number]>(
      'DELETE FROM limit_hits WHERE key = ? AND at <= ? AND expires_at <= ?',
    );
    this.#forgetAll = db.prepare<[string]>('DELETE FROM limit_hits WHERE key = ?');
    this.#forgetBelow = db.prepare<[string, string]>('DELETE FROM limit_hits WHERE key >= ? AND key < ?');
    // `+?`, because SQLite plans a statement anew, at several times its cost, whenever a bare parameter beside
    // an ORDER BY is bound to another value.
    this.#oldest = db.prepare<[string], HitRow>(
      'SELECT at, number FROM limit_hits WHERE key = +? ORDER BY at, number LIMIT 1',
    );
    this.#newest = db.prepare<[string], HitRow>(
      'SELECT at, number FROM limit_hits WHERE key = +? ORDER BY at DESC, number DESC LIMIT 1',
    );
    this.#firstAfter = db.prepare<[string, number], HitRow>(
      'SELECT at, number FROM limit_hits WHERE key = +? AND at > +? ORDER BY at, number LIMIT 1',
    );
    this.#nthAfter = db
      .prepare<[string, number, number], number>(
        'SELECT at FROM limit_hits WHERE key = +? AND at > +? ORDER BY at, number LIMIT 1 OFFSET +?',
      )
      .pluck();
    this.#around = db
      .prepare<[string, number, number], number>(
        'SELECT at FROM limit_hits WHERE key = +? AND at > +? AND at < +? ORDER BY at, number',
      )
      .pluck();
    // Two steps, so that no two rows have the same number on the way.
    this.#stepAside = db.prepare<[string, number]>(
      'UPDATE limit_hits SET number = -number - 1 WHERE key = ? AND at > ?',
    );
    this.#stepBack = db.prepare<[string, number]>(
      'UPDATE limit_hits SET number = -number WHERE key = ? AND at > ? AND number < 0',
    );
    this.#insert = db.prepare<[string, number, number, number]>(
      'INSERT INTO limit_hits (key, at, number, expires_at) VALUES (?, ?, ?, ?)',
    );
    this.#deleteExpired = db.prepare<[number, number]>(
      `DELETE FROM limit_hits WHERE (key, at, number) IN
         (SELECT key, at, number FROM limit_hits WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  /**
   * Counts a hit where that makes no window hold more than `max`.
   * @param now of the store's clock.
   * @param at when it happened, at most `now`; not before the newest of its key (`hitSent` takes those).
   */
  hit(key: string, { max, window_ms }: Window, now: number, at: number = now): WindowHit {
    const after = at - window_ms;
    let first = this.#oldest.get(key);
    let newest = first && this.#newest.get(key);
    if (newest && newest.at > now + window_ms) {
      // Hits of the future: the clock was set back. Kept, they would refuse until it has caught up.
      this.#forgetAll.run(key);
      first = newest = undefined;
    }
    if (first && first.at <= after) {
      this.#forgetUntil.run(key, after, now);
      first = this.#firstAfter.get(key, after);
    }
    const count = (newest && first ? newest.number - first.number + 1 : 0) + 1;
    // Times never fall with the numbers, also where the clock went back a little.
    const last = Math.max(at, newest?.at ?? 0);
    if (count > max) return { allowed: false, count, first: first?.at ?? last, last: newest?.at ?? last };
    this.#insert.run(key, last, (newest?.number ?? 0) + 1, Math.max(last, now) + window_ms);
    return { allowed: true, count, first: first?.at ?? last, last };
  }

  /** The same for a hit that happened at `sent_at`, at most `now`; hits may come in any order. */
  hitSent(key: string, window: Window, now: number, sent_at: number): Hit {
    const newest = this.#newest.get(key);
    const overtaken = newest && sent_at < newest.at && newest.at <= now + window.window_ms;
    return overtaken ? this.#hitLate(key, window, now, sent_at) : this.hit(key, window, now, sent_at);
  }

  /** When the hit at this place in a key's window happened, counted from 0; `after` is where the window begins. */
  nthAfter(key: string, after: number, place: number): number | undefined {
    return this.#nthAfter.get(key, after, place);
  }

  /** Forgets the hits of every key that begins like this; `prefix` ends in a colon. */
  forgetBelow(prefix: string): void {
    this.#forgetBelow.run(prefix, `${prefix.slice(0, -1)};`);
  }

  /** Deletes at most `bite` hits that are over. @returns how many. */
  deleteExpired(now: number, bite: number): number {
    return this.#deleteExpired.run(now, bite).changes;
  }

  /** One that others overtook: the windows before and behind it are looked at, and it takes its place in time. */
  #hitLate(key: string, { max, window_ms }: Window, now: number, at: number): Hit {
    const around = this.#around.all(key, at - window_ms, at + window_ms);
    const count = mostWithin(around, at, window_ms);
    if (count > max) return { allowed: false, count };
    const next = this.#firstAfter.get(key, at);
    if (next === undefined) throw new Error('a late hit has one behind it');
    this.#stepAside.run(key, at);
    this.#stepBack.run(key, at);
    this.#insert.run(key, at, next.number, now + window_ms);
    return { allowed: true, count };
  }
}
