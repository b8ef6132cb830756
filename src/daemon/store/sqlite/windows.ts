import type { Hit } from '../../guard/layers.ts';
import { mostWithin } from '../../guard/most-within.ts';

/** A hit that was counted; ms since the epoch. */
export interface CountedHit {
  /** When it happened. */
  at: number;
  /** When it was counted, by the store's clock; later than `at` where it was told late. */
  counted_at: number;
}

export interface Window {
  max: number;
  window_ms: number;
}

/** A hit that was added to a window. */
export interface AddedHit extends CountedHit {
  /** So many of the oldest hits were left out of the window with it. */
  left_out: number;
}

/** The outcome of a hit. */
export interface WindowHit extends Hit {
  /** Null if it was not counted: the window is unchanged then. */
  added: AddedHit | null;
}

/**
 * The hits of one key in an exact sliding window, the one primitive under rate limits and loop guard. A hit at
 * `at` counts while the time is < at + window; one that would make a window hold more than `max` is not counted.
 * Changed in place: what one more hit costs does not grow with those that stand in the window.
 */
export class SlidingWindow {
  /** In the order of time. */
  readonly #hits: CountedHit[];
  /** Of these so many are over. */
  #over = 0;

  /** @param hits in the order of time. */
  constructor(hits: CountedHit[] = []) {
    this.#hits = hits;
  }

  /** Hits that may still matter. */
  get size(): number {
    return this.#hits.length - this.#over;
  }

  /** When the hit happened that has `place - 1` newer ones; undefined where there are not so many. */
  newest(place: number): number | undefined {
    return place > this.size ? undefined : this.#hits.at(-place)?.at;
  }

  /** Hits that happened later than `after`. */
  since(after: number): number {
    return this.#hits.length - this.#firstAfter(after);
  }

  /** Whether hits stand in it that are to come: the clock was set back, and they would refuse until it has caught up. */
  isAhead(now: number, { window_ms }: Window): boolean {
    return (this.newest(1) ?? 0) > now + window_ms;
  }

  /** Whether no hit of it can matter any more. */
  isOver(now: number, window: Window): boolean {
    for (const hit of this) if (isKept(hit, window, now)) return false;
    return true;
  }

  /**
   * Moves hits that are yet to come to now: the clock was set back. Otherwise a client would wait longer than
   * the window. @returns whether there were any; the window was changed then.
   */
  pullBack(now: number): boolean {
    if ((this.newest(1) ?? 0) <= now) return false;
    for (const hit of this) {
      hit.at = Math.min(hit.at, now);
      hit.counted_at = Math.min(hit.counted_at, now);
    }
    return true;
  }

  /** Counts a hit of now, by the store's clock. No hit is yet to come: see `pullBack`. */
  hit(window: Window, now: number): WindowHit {
    return this.#countNewest(window, now, now);
  }

  /** The same for a hit that happened at `sent_at`, at most `now`; such hits may come in any order. */
  hitSent(window: Window, now: number, sent_at: number): WindowHit {
    if (sent_at >= (this.newest(1) ?? 0)) return this.#countNewest(window, now, sent_at);
    return this.#countOvertaken(window, now, sent_at);
  }

  /** Does what was done when the hit was counted. */
  add({ left_out, ...hit }: AddedHit): void {
    this.#over += left_out;
    this.#forgetOver();
    this.#insert(hit);
  }

  /** In the order of time. */
  *[Symbol.iterator](): Generator<CountedHit> {
    for (let place = this.#over; place < this.#hits.length; place++) yield this.#hits[place] as CountedHit;
  }

  #countNewest({ max, window_ms }: Window, now: number, at: number): WindowHit {
    const after = at - window_ms;
    const count = this.since(after) + 1;
    if (count > max) return { allowed: false, count, added: null };
    const left_out = this.#leaveOut((hit) => hit.at <= after && !isKept(hit, { window_ms }, now));
    const added = { at, counted_at: now };
    this.#hits.push(added);
    return { allowed: true, count, added: { ...added, left_out } };
  }

  /** The windows before and behind it are looked at, and it takes its place in time. */
  #countOvertaken({ max, window_ms }: Window, now: number, at: number): WindowHit {
    const times = this.#hits
      .slice(this.#firstAfter(at - window_ms))
      .map((hit) => hit.at)
      .filter((time) => time < at + window_ms);
    const count = mostWithin(times, at, window_ms);
    if (count > max) return { allowed: false, count, added: null };
    const added = { at, counted_at: now };
    this.#insert(added);
    return { allowed: true, count, added: { ...added, left_out: 0 } };
  }

  #insert(hit: CountedHit): void {
    this.#hits.splice(this.#firstAfter(hit.at), 0, hit);
  }

  /** From the oldest on, while they are over. @returns how many. */
  #leaveOut(isOver: (hit: CountedHit) => boolean): number {
    const before = this.#over;
    for (let hit = this.#hits[this.#over]; hit && isOver(hit); hit = this.#hits[this.#over]) this.#over++;
    const left_out = this.#over - before;
    this.#forgetOver();
    return left_out;
  }

  /** Frees the memory of those that are over when they are the half. */
  #forgetOver(): void {
    if (this.#over <= this.#hits.length / 2) return;
    this.#hits.splice(0, this.#over);
    this.#over = 0;
  }

  /** The place of the first hit that happened later than `after`. */
  #firstAfter(after: number): number {
    let [low, high] = [this.#over, this.#hits.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hits[middle] as CountedHit).at > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** A hit that was told late is kept for as long as others of its time may be. */
function isKept(
  { at, counted_at }: CountedHit,
  { window_ms }: Pick<Window, 'window_ms'>,
  now: number,
): boolean {
  return Math.max(at, counted_at) + window_ms > now;
}

/** A hit for JSON: when it happened, how much later it was counted, and how many were left out with it. */
export type PackedHit = [at: number, late?: number, left_out?: number];

export function packHit({ at, counted_at, left_out }: AddedHit): PackedHit {
  if (left_out > 0) return [at, counted_at - at, left_out];
  return counted_at > at ? [at, counted_at - at] : [at];
}

/** @param packed by `packHit`. */
export function unpackHit([at, late = 0, left_out = 0]: PackedHit): AddedHit {
  return { at, counted_at: at + late, left_out };
}

/** Hits for JSON: the first one's time and the steps to the next ones, and how late each was told, if any was. */
export type PackedHits = [steps: number[], late?: number[]];

export function packHits(window: SlidingWindow): PackedHits {
  let before = 0;
  const hits = [...window];
  const steps = hits.map(({ at }) => {
    const step = at - before;
    before = at;
    return step;
  });
  if (hits.every(({ at, counted_at }) => counted_at <= at)) return [steps];
  return [steps, hits.map(({ at, counted_at }) => counted_at - at)];
}

/** @param packed by `packHits`. */
export function unpackHits([steps, late]: PackedHits): SlidingWindow {
  let at = 0;
  const hits = steps.map((step, place) => {
    at += step;
    return { at, counted_at: at + (late?.[place] ?? 0) };
  });
  return new SlidingWindow(hits);
}
