/** Prints a JSON array item by item, each on a line. After `end`, the output is valid JSON, unless it is empty. */
export class JsonArrayWriter {
  readonly #write: (text: string) => void;
  #isEmpty = true;
  #hasEnded = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** @param item as JSON. Items after the end are dropped. */
  add(item: string): void {
    if (this.#hasEnded) return;
    this.#write(`${this.#isEmpty ? '[' : ','}\n  ${item}`);
    this.#isEmpty = false;
  }

  /** Prints nothing if the array is empty. */
  end(): void {
    if (!this.#isEmpty) this.#write('\n]\n');
    this.#hasEnded = true;
  }
}
