/** A hit that was counted. Times are ms since the epoch. */
export interface Hit {
  /** When it happened. */
  readonly at: number;
  /** When it was counted, by the store's clock: later than `at` if it was reported late. */
  readonly counted_at: number;
}

/**
 * How many hits a window would contain if one more hit happened at `at`, including that hit. Of all windows that
 * contain `at`, the window with the most hits counts, because a hit may be reported after later hits.
 * @param counts which hits count; all if it is absent.
 */
export function countWith<H extends Hit>(
  hits: readonly H[],
  at: number,
  window_ms: number,
  counts?: (hit: H) => boolean,
): number {
  const from = firstAfter(hits, at - window_ms);
  const isNewest = at >= (hits.at(-1)?.at ?? at);
  if (counts === undefined && isNewest) return hits.length - from + 1;
  const times: number[] = [];
  for (const hit of hits.slice(from)) {
    if (hit.at >= at + window_ms) break;
    if (counts === undefined || counts(hit)) times.push(hit.at);
  }
  return isNewest ? times.length + 1 : maxHitsInWindow(times, at, window_ms);
}

/**
 * The hits with one more hit. The oldest hits are dropped if they can no longer matter, because `keep_ms` have passed both
 * since they happened and since they were counted. So a hit that was reported late is kept as long as other hits of the
 * same time may be reported.
 */
export function addHit<H extends Hit>(hits: readonly H[], hit: H, keep_ms: number): readonly H[] {
  const matters = ({ at, counted_at }: H) =>
    at > hit.at - keep_ms || (counted_at > hit.counted_at - keep_ms && counted_at <= hit.counted_at);
  const oldest = hits.findIndex(matters);
  const kept = oldest < 0 ? [] : hits.slice(oldest);
  return kept.toSpliced(firstAfter(kept, hit.at), 0, hit);
}

/**
 * The hits as they apply now. If some are in the future, the clock was set back: then all are moved back by the same
 * amount, so that nobody waits longer than a window. If they would move by more than `keep_ms`, none of them counts.
 * @returns the same value if nothing changes.
 */
export function hitsAt<H extends Hit>(hits: readonly H[], now: number, keep_ms: number): readonly H[] {
  const ahead = (hits.at(-1)?.at ?? now) - now;
  if (ahead <= 0) return hits;
  if (ahead > keep_ms) return [];
  return hits.map((hit) => ({
    ...hit,
    at: hit.at - ahead,
    counted_at: Math.min(hit.counted_at - ahead, now),
  }));
}

/** The index of the first hit that happened later than `after`. */
function firstAfter(hits: readonly Hit[], after: number): number {
  return hits.findLastIndex(({ at }) => at <= after) + 1;
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
