import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { type Packing, StateLog } from './state-log.ts';
import { packHits, SlidingWindow, unpackHits } from './windows.ts';
import type { GroupCommit } from './writer.ts';

const PACKING: Packing<SlidingWindow, number> = {
  pack: packHits,
  unpack: unpackHits,
  apply: (hits, at) => hits.add({ at, counted_at: at }),
  size: (hits) => hits.size,
};

/** Request limits: sliding windows on the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #windows: StateLog<SlidingWindow, number>;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#windows = new StateLog(db, 'limit_log', PACKING, clock);
    commit.keep(this.#windows);
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const { max, window_ms } = limit;
      const now = this.#clock.now();
      const known = this.#windows.get(key, now);
      const hits = known && !known.isAhead(now, limit) ? known : new SlidingWindow();
      const { allowed, added } = hits.hit(limit, now);
      const last = hits.newest(1) ?? now;
      if (added && hits === known) this.#windows.add(key, added.at, last + window_ms);
      else if (added) this.#windows.put(key, hits, last + window_ms);
      const used = hits.since(now - window_ms);
      // More than the limit are in it where it was lowered since they were counted.
      const frees = used < max ? undefined : hits.newest(max);
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
