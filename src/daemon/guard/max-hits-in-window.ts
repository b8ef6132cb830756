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
