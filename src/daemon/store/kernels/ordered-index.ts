/** A document's place in an index. */
export interface Ordered {
  index: string;
  score: number;
  tie: number;
  key: string;
  /** When the document ends, ms since the epoch; null or absent if it does not. */
  ends_at?: number | null;
}

/** The places of one index, ordered by score, tie and key. */
export class OrderedIndex {
  readonly #places: Ordered[] = [];
  /** How many of the places end. */
  #ending = 0;

  all(): readonly Ordered[] {
    return this.#places;
  }

  /** The number of places that have not ended. */
  count(now: number): number {
    if (this.#ending === 0) return this.#places.length;
    return this.#places.filter(({ ends_at = null }) => ends_at === null || ends_at > now).length;
  }

  add(place: Ordered): void {
    this.#places.splice(this.#findPosition(place), 0, place);
    if (typeof place.ends_at === 'number') this.#ending++;
  }

  /** No effect if the place is not in the index. */
  delete(place: Ordered): void {
    const at = this.#findPosition(place);
    const found = this.#places[at];
    if (found?.key !== place.key) return;
    this.#places.splice(at, 1);
    if (typeof found.ends_at === 'number') this.#ending--;
  }

  /** The position of the first place that is not before this one. */
  #findPosition(place: Ordered): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePlaces(this.#places[middle] as Ordered, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Place = Pick<Ordered, 'score' | 'tie' | 'key'>;

/** The order of an index: by score, tie and key. */
export function comparePlaces(one: Place, other: Place): number {
  return (
    one.score - other.score ||
    one.tie - other.tie ||
    Number(one.key > other.key) ||
    -Number(one.key < other.key)
  );
}
