import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { LOG_SURPLUS, type Packing, StateLog } from './state-log.ts';
import { type PackedHit, packHit, packHits, SlidingWindow, unpackHit, unpackHits } from './windows.ts';
import type { GroupCommit } from './writer.ts';

const PACKING: Packing<SlidingWindow, PackedHit> = {
  pack: packHits,
  unpack: unpackHits,
  apply: (hits, hit) => hits.add(unpackHit(hit)),
  size: (hits) => hits.size,
};

/** Request limits: sliding windows on the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #windows: StateLog<SlidingWindow, PackedHit>;

  /** @param surplus of the log; `LOG_SURPLUS` except in tests. */
  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, surplus = LOG_SURPLUS) {
    this.#commit = commit;
    this.#clock = clock;
    this.#windows = new StateLog(db, 'limit_log', PACKING, clock, surplus);
    commit.keep(this.#windows);
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const { max, window_ms } = limit;
      const now = this.#clock.now();
      const known = this.#windows.get(key, now);
      const hits = known && !known.isAhead(now, limit) ? known : new SlidingWindow();
      const pulledBack = hits.pullBack(now);
      const { allowed, added } = hits.hit(limit, now);
      const last = hits.newest(1) ?? now;
      if (added && hits === known && !pulledBack) this.#windows.add(key, packHit(added), last + window_ms);
      else if (added || pulledBack) this.#windows.put(key, hits, last + window_ms);
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
