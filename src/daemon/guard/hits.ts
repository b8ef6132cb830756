/** A hit that was counted. Times are ms since the epoch. */
export interface Hit {
  /** When it happened. */
  readonly at: number;
  /** When it was counted, by the store's clock: later than `at` if it was reported late. */
  readonly counted_at: number;
}

/**
 * The hits of one key, oldest first, for all sliding windows of that key. A value is immutable: no function changes the
 * hits that it is given. Values share one array, and each is a slice of it, so the cost of adding a hit does not grow
 * with the number of hits.
 */
export interface Hits<H extends Hit = Hit> {
  readonly array: readonly H[];
  readonly start: number;
  readonly end: number;
}

/** The change that `addHit` makes: the hit to add, and how many of the oldest hits are dropped with it. */
export interface AddedHit<H extends Hit = Hit> {
  readonly hit: H;
  readonly dropped: number;
}

/** @param array oldest first; the caller must not change it afterwards. */
export function toHits<H extends Hit>(array: readonly H[] = []): Hits<H> {
  return { array, start: 0, end: array.length };
}

/** Oldest first. */
export function listHits<H extends Hit>({ array, start, end }: Hits<H>): H[] {
  return array.slice(start, end);
}

/** The number of hits that are kept. */
export function hitCount({ start, end }: Hits): number {
  return end - start;
}

/** The newest hit for `nth` 1, the second newest for 2, and so on. Undefined if there are fewer hits. */
export function newestHit<H extends Hit>({ array, start, end }: Hits<H>, nth = 1): H | undefined {
  return end - nth < start ? undefined : array[end - nth];
}

/** The number of hits that happened later than `after`. */
export function countSince(hits: Hits, after: number): number {
  return hits.end - firstAfter(hits, after);
}

/**
 * How many hits a window would contain if one more hit happened at `at`, including that hit. Of all windows that
 * contain `at`, the window with the most hits counts, because a hit may be reported after later hits.
 * @param counts which hits count; all if it is absent.
 */
export function countWith<H extends Hit>(
  hits: Hits<H>,
  at: number,
  window_ms: number,
  counts?: (hit: H) => boolean,
): number {
  const from = firstAfter(hits, at - window_ms);
  const isNewest = at >= (newestHit(hits)?.at ?? at);
  if (counts === undefined && isNewest) return hits.end - from + 1;
  const times: number[] = [];
  for (let index = from; index < hits.end; index++) {
    const hit = hits.array[index] as H;
    if (hit.at >= at + window_ms) break;
    if (counts === undefined || counts(hit)) times.push(hit.at);
  }
  return isNewest ? times.length + 1 : maxHitsInWindow(times, at, window_ms);
}

/**
 * A hit to add. The oldest hits are dropped with it if they can no longer matter, because `keep_ms` have passed both
 * since they happened and since they were counted. So a hit that was reported late is kept as long as other hits of the
 * same time may be reported.
 */
export function addedHit<H extends Hit>(hits: Hits<H>, hit: H, keep_ms: number): AddedHit<H> {
  const matters = ({ at, counted_at }: H) =>
    at > hit.at - keep_ms || (counted_at > hit.counted_at - keep_ms && counted_at <= hit.counted_at);
  let index = hits.start;
  while (index < hits.end && !matters(hits.array[index] as H)) index++;
  return { hit, dropped: index - hits.start };
}

/** The hits with one more hit added. */
export function addHit<H extends Hit>(hits: Hits<H>, { hit, dropped }: AddedHit<H>): Hits<H> {
  const { end } = hits;
  const array = hits.array as H[];
  const start = hits.start + dropped;
  const index = firstAfter({ array, start, end }, hit.at);
  // The hit can be pushed, because values that share the array ignore everything beyond the end of their slice. Once
  // half of the array is unused, a new array is made.
  if (index === end && end === array.length && start <= end / 2) {
    array.push(hit);
    return { array, start, end: end + 1 };
  }
  if (start === end) return toHits([hit]);
  return toHits([...array.slice(start, index), hit, ...array.slice(index, end)]);
}

/**
 * The hits as they apply now. If some are in the future, the clock was set back: then all are moved back by the same
 * amount, so that nobody waits longer than a window. If they would move by more than `keep_ms`, none of them counts.
 * @returns the same value if nothing changes.
 */
export function hitsAt<H extends Hit>(hits: Hits<H>, now: number, keep_ms: number): Hits<H> {
  const ahead = (newestHit(hits)?.at ?? now) - now;
  if (ahead <= 0) return hits;
  if (ahead > keep_ms) return toHits();
  const moved = listHits(hits).map((hit) => ({
    ...hit,
    at: hit.at - ahead,
    counted_at: Math.min(hit.counted_at - ahead, now),
  }));
  return toHits(moved);
}

/** The index in the array of the first hit that happened later than `after`. */
function firstAfter({ array, start, end }: Hits, after: number): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((array[middle] as Hit).at > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The maximum number of hits in any window that contains a hit at `at`, including that hit.
 * @param times the times of the other hits in ascending order, all less than a window away from `at`; ms.
 * @param window_ms hits that are less than this apart are in the same window.
 */
export function maxHitsInWindow(times: readonly number[], at: number, window_ms: number): number {
  const before = times.filter((time) => time <= at);
  const all = [...before, at, ...times.slice(before.length)];
  let most = 1;
  let last = before.length;
  for (let first = 0; first <= before.length; first++) {
    while (last + 1 < all.length && (all[last + 1] as number) < (all[first] as number) + window_ms) last++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
