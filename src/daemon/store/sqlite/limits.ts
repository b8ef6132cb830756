import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../store.ts';
import type { SlidingWindows } from './windows.ts';
import type { GroupCommit } from './writer.ts';

/** Request limits: sliding windows on the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #windows: SlidingWindows;
  readonly #commit: GroupCommit;
  readonly #clock: Clock;

  constructor(windows: SlidingWindows, commit: GroupCommit, clock: Clock) {
    this.#windows = windows;
    this.#commit = commit;
    this.#clock = clock;
  }

  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const { max, window_ms } = limit;
      const now = this.#clock.now();
      const { allowed, count, first, last } = this.#windows.hit(key, limit, now);
      const used = allowed ? count : count - 1;
      let frees: number | undefined;
      if (used === max) frees = first;
      // More than the limit: it was lowered since they were counted.
      else if (used > max) frees = this.#windows.nthAfter(key, now - window_ms, used - max);
      return {
        allowed,
        remaining: Math.max(0, max - used),
        retry_after_ms: frees === undefined ? 0 : frees + window_ms - now,
        reset_ms: last + window_ms - now,
      };
    });
  }

  /** Within a commit: deletes at most `bite` hits that are over, whosever they are. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#windows.deleteExpired(this.#clock.now(), bite);
  }
}
