import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { type Packing, StateLog } from './state-log.ts';
import type { GroupCommit } from './writer.ts';

/** Hits that stand in one entry: one more of a key writes these anew, and not all that are in its window. */
const BLOCK = 128;

/**
 * The newest hits of a key, ms since the epoch, in order; on disk there is one at least. Earlier ones stand in blocks
 * that are full and never change, each under a key of its own.
 */
interface Hits {
  times: readonly number[];
  /** Number of the oldest full block, and how many there are. */
  from: number;
  full: number;
}

const NO_HITS: Hits = { times: [], from: 0, full: 0 };

/** The first time and the steps to the next ones. */
const PACKING: Packing<Hits> = {
  pack: ({ times, from, full }) => {
    const steps = times.map((at, place) => at - (times[place - 1] ?? 0));
    return full === 0 ? [steps] : [steps, from, full];
  },
  unpack([steps, from = 0, full = 0]: [steps: number[], from?: number, full?: number]) {
    let at = 0;
    const times = steps.map((step) => {
      at += step;
      return at;
    });
    return { times, from, full };
  },
};

/** Request limits: exact sliding windows on the store's clock. */
export class SqliteLimits implements LimitStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #log: StateLog<Hits>;
  readonly #blockSize: number;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, blockSize = BLOCK) {
    this.#commit = commit;
    this.#clock = clock;
    this.#blockSize = blockSize;
    this.#log = new StateLog(db, 'limit_log', PACKING, clock);
    commit.keep(this.#log);
  }

  hit(key: string, { max, window_ms }: { max: number; window_ms: number }): Promise<WindowState> {
    return this.#commit.write(() => {
      const now = this.#clock.now();
      const after = now - window_ms;
      const known = this.#log.get(key, now) ?? NO_HITS;
      // Hits of the future: the clock was set back. Kept, they would refuse until it has caught up.
      const setBack = (known.times.at(-1) ?? 0) > now + window_ms;
      const before = setBack ? { ...NO_HITS, from: known.from + known.full } : this.#since(key, known, after);
      const allowed = this.#count(key, before, after) < max;
      const hits = allowed ? this.#add(key, before, now, window_ms) : before;
      if (allowed) this.#delete(key, known.from, hits.from);
      const used = this.#count(key, hits, after);
      // More than the limit are in it where it was lowered since they were counted.
      const frees = used < max ? undefined : this.#newest(key, hits, max);
      return {
        allowed,
        remaining: Math.max(0, max - used),
        retry_after_ms: frees === undefined ? 0 : frees + window_ms - now,
        reset_ms: (hits.times.at(-1) ?? now) + window_ms - now,
      };
    });
  }

  /** Within a commit. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#log.deleteExpired(bite);
  }

  /** The hits later than `after`; in the oldest block there may be others beside one that is. */
  #since(key: string, { times, from, full }: Hits, after: number): Hits {
    let over = 0;
    while (over < full && (this.#block(key, from + over).at(-1) ?? 0) <= after) over++;
    const kept = over < full ? times : times.slice(firstAfter(times, after));
    return { times: kept, from: from + over, full: full - over };
  }

  /** With a hit more; times never fall, also where the clock went back a little. */
  #add(key: string, { times, from, full }: Hits, now: number, window_ms: number): Hits {
    const last = times.at(-1) ?? 0;
    const at = Math.max(now, last);
    const isFull = times.length === this.#blockSize;
    if (isFull) this.#log.put(blockKey(key, from + full), { ...NO_HITS, times }, last + window_ms);
    const hits = { times: isFull ? [at] : [...times, at], from, full: isFull ? full + 1 : full };
    this.#log.put(key, hits, at + window_ms);
    return hits;
  }

  #delete(key: string, from: number, to: number): void {
    for (let number = from; number < to; number++) this.#log.delete(blockKey(key, number));
  }

  #count(key: string, { times, from, full }: Hits, after: number): number {
    if (full === 0) return times.length;
    const oldest = this.#block(key, from);
    return oldest.length - firstAfter(oldest, after) + (full - 1) * this.#blockSize + times.length;
  }

  /** When the hit was made that has `place - 1` newer ones. */
  #newest(key: string, { times, from, full }: Hits, place: number): number | undefined {
    if (place <= times.length) return times.at(-place);
    const behind = place - times.length - 1;
    const block = this.#block(key, from + full - 1 - Math.floor(behind / this.#blockSize));
    return block.at(-1 - (behind % this.#blockSize));
  }

  /** A block that has expired holds nothing. */
  #block(key: string, number: number): readonly number[] {
    return this.#log.get(blockKey(key, number), this.#clock.now())?.times ?? [];
  }
}

/** No key of a window begins with a digit. */
function blockKey(key: string, number: number): string {
  return `${number} ${key}`;
}

/** The place of the first time later than `after`, in ascending times. */
function firstAfter(times: readonly number[], after: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}
