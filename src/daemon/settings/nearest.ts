/** The candidate that a misspelled word most likely meant, and by how many typos it differs. */
interface Near {
  name: string;
  /** Letters that are missing, added, replaced, or swapped with their neighbor. */
  distance: number;
}

/** The nearest of the candidates, at most `limit` typos away; undefined if there is none. */
export function nearest(word: string, candidates: Iterable<string>, limit: number): Near | undefined {
  let best: Near | undefined;
  for (const name of candidates) {
    // Words whose lengths differ by more than the limit cannot be near.
    if (Math.abs(name.length - word.length) > limit) continue;
    const distance = editDistance(word, name, limit);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best;
}

/**
 * Optimal string alignment: Levenshtein's distance, in which swapping two neighbors counts as one typo.
 * @returns infinity as soon as the distance is known to exceed the limit: for most words, after only a few letters.
 */
function editDistance(a: string, b: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  let leastOfLast = 0;
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    let least = row;
    // All other columns of this row exceed the limit.
    const end = Math.min(b.length, row + limit);
    for (let column = Math.max(1, row - limit); column <= end; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current[column] = cost;
      least = Math.min(least, cost);
    }
    // No later row can contain a smaller value than the last two rows.
    if (Math.min(leastOfLast, least) > limit) return Number.POSITIVE_INFINITY;
    beforeLast = last;
    last = current;
    leastOfLast = least;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
