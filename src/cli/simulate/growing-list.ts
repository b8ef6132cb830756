/** An array that is printed as it grows, an item a line: one JSON document in the end, also where that comes early. */
export class GrowingList {
  readonly #write: (text: string) => void;
  #isBegun = false;
  #hasEnded = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** @param item as JSON; one that comes after the end is left out */
  add(item: string): void {
    if (this.#hasEnded) return;
    this.#write(`${this.#isBegun ? ',' : '['}\n  ${item}`);
    this.#isBegun = true;
  }

  /** Prints nothing where nothing was added. */
  end(): void {
    if (this.#isBegun) this.#write('\n]\n');
    this.#hasEnded = true;
  }
}
