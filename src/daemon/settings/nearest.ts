/** The candidate that a misspelt word most likely meant, and by how many slips it differs. */
export interface Near {
  name: string;
  /** Letters left out, added, exchanged, or swapped with their neighbour. */
  distance: number;
}

/** The nearest of the candidates, at most `limit` slips away; undefined if there is none. */
export function nearest(word: string, candidates: Iterable<string>, limit: number): Near | undefined {
  let best: Near | undefined;
  for (const name of candidates) {
    // Words that differ more in length than the limit cannot be near.
    if (Math.abs(name.length - word.length) > limit) continue;
    const distance = editDistance(word, name, limit);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best;
}

/**
 * Optimal string alignment: Levenshtein's distance with neighbours swapped as one slip.
 * @returns infinity if it is more than the limit: nearly every pair of words differs that much after a few letters.
 */
function editDistance(a: string, b: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    // No later row falls below the last two.
    if (Math.min(...last, ...current) > limit) return Number.POSITIVE_INFINITY;
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
