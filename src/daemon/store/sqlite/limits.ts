import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { StateLog } from './state-log.ts';
import { type CountedHit, countHit, packHits, unpackHits } from './windows.ts';
import type { GroupCommit } from './writer.ts';

/** Request limits: sliding windows on the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #windows: StateLog<readonly CountedHit[]>;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#windows = new StateLog(db, 'limit_log', { pack: packHits, unpack: unpackHits }, clock);
    commit.keep(this.#windows);
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const { max, window_ms } = limit;
      const now = this.#clock.now();
      const { allowed, count, last, hits } = countHit(this.#windows.get(key, now) ?? [], limit, now);
      if (allowed) this.#windows.put(key, hits, Math.max(last, now) + window_ms);
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

  /** Within a commit. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#windows.deleteExpired(bite);
  }
}
