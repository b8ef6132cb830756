/**
 * How many hits stand in one window together with a hit at `at`, at most, itself included: of all windows of
 * that length that hold it, the fullest.
 * @param times of the other hits, ascending, all less than a window away from `at`; ms.
 * @param window_ms a window holds what is less than this apart.
 */
export function mostWithin(times: readonly number[], at: number, window_ms: number): number {
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
