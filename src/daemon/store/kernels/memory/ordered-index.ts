/** A document's place in an index. */
export interface Ordered {
  index: string;
  score: number;
  tie: number;
  key: string;
}

/** The places of one index, ordered by score, tie and key. */
export class OrderedIndex {
  readonly #places: Ordered[] = [];

  all(): readonly Ordered[] {
    return this.#places;
  }

  add(place: Ordered): void {
    this.#places.splice(this.#positionOf(place), 0, place);
  }

  delete(place: Ordered): void {
    const at = this.#positionOf(place);
    if (this.#places[at]?.key === place.key) this.#places.splice(at, 1);
  }

  /** The position of the first place that is not before this one. */
  #positionOf(place: Ordered): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.#places[middle] as Ordered, place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(one: Ordered, other: Ordered): boolean {
  if (one.score !== other.score) return one.score < other.score;
  if (one.tie !== other.tie) return one.tie < other.tie;
  return one.key < other.key;
}
