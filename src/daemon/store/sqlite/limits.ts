import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { countHit, packHits, unpackHits } from './windows.ts';
import type { GroupCommit } from './writer.ts';

/** Request limits: sliding windows on the store's clock, one row a key. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #delete;
  readonly #postpone;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#find = db.prepare<[string], string>('SELECT hits FROM limit_windows WHERE key = ?').pluck();
    this.#insert = db.prepare<{ key: string; hits: string; expires_at: number }>(
      'INSERT INTO limit_windows (key, hits, expires_at, look_at) VALUES (@key, @hits, @expires_at, @expires_at)',
    );
    this.#update = db.prepare<{ key: string; hits: string; expires_at: number }>(
      'UPDATE limit_windows SET hits = @hits, expires_at = @expires_at WHERE key = @key',
    );
    this.#delete = db.prepare<{ now: number; bite: number }>(
      `DELETE FROM limit_windows WHERE key IN
         (SELECT key FROM limit_windows WHERE look_at <= @now AND expires_at <= @now LIMIT @bite)`,
    );
    this.#postpone = db.prepare<{ now: number; bite: number }>(
      `UPDATE limit_windows SET look_at = expires_at WHERE key IN
         (SELECT key FROM limit_windows WHERE look_at <= @now AND expires_at > @now LIMIT @bite)`,
    );
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const { max, window_ms } = limit;
      const now = this.#clock.now();
      const found = this.#find.get(key);
      const { allowed, count, last, hits } = countHit(found ? unpackHits(found) : [], limit, now);
      if (allowed) {
        const row = { key, hits: packHits(hits), expires_at: Math.max(last, now) + window_ms };
        if (found === undefined) this.#insert.run(row);
        else this.#update.run(row);
      }
      const used = allowed ? count : count - 1;
      // More than the limit are in it where it was lowered since they were counted.
      const frees = used < max ? undefined : hits.at(-max)?.at;
      return {
        allowed,
        remaining: Math.max(0, max - used),
        retry_after_ms: frees === undefined ? 0 : frees + window_ms - now,
        reset_ms: last + window_ms - now,
      };
    });
  }

  /** Within a commit: sees to at most `bite` keys whose hits were to be over by now. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    const deleted = this.#delete.run({ now, bite }).changes;
    return deleted + this.#postpone.run({ now, bite: bite - deleted }).changes;
  }
}
