import { KEYS } from './document-row.ts';

/** How many hashes are read at once. It limits how long the event loop is blocked. */
const SLICE = 1000;
/** How many bits a filter has at first and at most. A half of a hash is the number of one of 2^22 bits. */
const BITS_MIN = 2 ** 14;
const BITS_MAX = 2 ** 22;
/** With fewer bits for each key than this, a filter begins anew with more bits. */
const BITS_PER_KEY = 8;
const GROWTH = 16;

/**
 * Says which keys of a kind the table certainly does not have, so that it is not searched in vain: most documents that a
 * message puts are new. It is a Bloom filter over the hashes of the keys (`hashOf`), which it reads little by little.
 */
export class KeyFilter {
  readonly #first: number;
  readonly #end: number;
  readonly #read: (from: number, limit: number) => number[];
  #bits = new Uint8Array(BITS_MIN / 8);
  #count = 0;
  /** All hashes below this are in the filter. */
  #read_to: number;

  /**
   * @param first the lowest hash of the kind
   * @param read reads the hashes of the kind, from this one on, in ascending order
   */
  constructor(first: number, read: (from: number, limit: number) => number[]) {
    this.#first = first;
    this.#end = first + KEYS;
    this.#read_to = first;
    this.#read = read;
  }

  /** Whether the table certainly has no key at all. */
  get isEmpty(): boolean {
    return this.#count === 0 && this.#read_to === this.#end;
  }

  mayHave(hash: number): boolean {
    this.#readOn();
    if (hash >= this.#read_to) return true;
    const [one, other] = this.#halves(hash);
    return this.#isSet(one) && this.#isSet(other);
  }

  /** The table has this key now. */
  add(hash: number): void {
    for (const bit of this.#halves(hash))
      this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] as number) | (1 << (bit & 7));
    this.#count++;
    const bits = this.#bits.length * 8;
    if (bits >= this.#count * BITS_PER_KEY || bits === BITS_MAX) return;
    this.#bits = new Uint8Array((bits * GROWTH) / 8);
    this.#count = 0;
    this.#read_to = this.#first;
  }

  #readOn(): void {
    if (this.#read_to === this.#end) return;
    const hashes = this.#read(this.#read_to, SLICE);
    this.#read_to = hashes.length < SLICE ? this.#end : (hashes.at(-1) as number);
    for (const hash of hashes) this.add(hash);
  }

  #halves(hash: number): [number, number] {
    const key = hash - this.#first;
    const mask = this.#bits.length * 8 - 1;
    return [(key % BITS_MAX) & mask, Math.floor(key / BITS_MAX) & mask];
  }

  #isSet(bit: number): boolean {
    return ((this.#bits[bit >>> 3] as number) & (1 << (bit & 7))) !== 0;
  }
}
