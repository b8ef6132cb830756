import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../store.ts';
import type { GroupCommit } from './writer.ts';

interface Hit {
  at: number;
  number: number;
}

/**
 * Exact sliding windows: one row a hit, numbered per key, so that a hit costs the same under a limit of 20
 * as of a million. A hit counts while its time > now - window.
 */
export class SqliteLimits implements LimitStore {
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  readonly #forgetUntil;
  readonly #forgetAll;
  readonly #oldest;
  readonly #newest;
  readonly #nth;
  readonly #insert;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#clock = clock;
    this.#commit = commit;
    this.#forgetUntil = db.prepare<[string, number]>('DELETE FROM limit_hits WHERE key = ? AND at <= ?');
    this.#forgetAll = db.prepare<[string]>('DELETE FROM limit_hits WHERE key = ?');
    // `+?`, because SQLite plans a statement anew, at several times its cost, whenever a bare parameter beside
    // an ORDER BY is bound to another value.
    this.#oldest = db.prepare<[string], Hit>(
      'SELECT at, number FROM limit_hits WHERE key = +? ORDER BY at, number LIMIT 1',
    );
    this.#newest = db.prepare<[string], Hit>(
      'SELECT at, number FROM limit_hits WHERE key = +? ORDER BY at DESC, number DESC LIMIT 1',
    );
    this.#nth = db
      .prepare<[string, number], number>(
        'SELECT at FROM limit_hits WHERE key = +? ORDER BY at, number LIMIT 1 OFFSET +?',
      )
      .pluck();
    this.#insert = db.prepare<[string, number, number, number]>(
      'INSERT INTO limit_hits (key, at, number, expires_at) VALUES (?, ?, ?, ?)',
    );
    this.#deleteExpired = db.prepare<[number, number]>(
      `DELETE FROM limit_hits WHERE (key, at, number) IN
         (SELECT key, at, number FROM limit_hits WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => this.#hit(key, limit));
  }

  #hit(key: string, { max, window_ms }: { max: number; window_ms: number }): WindowState {
    const now = this.#clock.now();
    let oldest = this.#oldest.get(key);
    if (oldest && oldest.at <= now - window_ms) {
      this.#forgetUntil.run(key, now - window_ms);
      oldest = this.#oldest.get(key);
    }
    let newest = oldest && this.#newest.get(key);
    if (newest && newest.at > now + window_ms) {
      // Hits of the future: the clock was set back. Kept, they would refuse until it has caught up.
      this.#forgetAll.run(key);
      newest = undefined;
    }
    let used = newest && oldest ? newest.number - oldest.number + 1 : 0;
    const allowed = used < max;
    // Times never fall with the numbers, also where the clock went back a little.
    let last = newest?.at ?? now;
    if (allowed) {
      last = Math.max(now, last);
      this.#insert.run(key, last, (newest?.number ?? 0) + 1, last + window_ms);
      used++;
    }
    const frees =
      used < max ? undefined : used === max ? (oldest?.at ?? last) : this.#nth.get(key, used - max);
    return {
      allowed,
      remaining: Math.max(0, max - used),
      retry_after_ms: frees === undefined ? 0 : frees + window_ms - now,
      reset_ms: used === 0 ? 0 : last + window_ms - now,
    };
  }

  /** Within a commit: deletes at most `bite` hits that are over. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }
}
