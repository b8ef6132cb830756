/** After so many additions, and as many as there are entries, the entries move to a new table. */
const RENEW_AFTER = 64;

/**
 * A Map whose entries come and go with messages. An ordinary Map gets a new table whenever deleted entries have filled
 * the old one, and V8 lets the old table point to the new one. Once one of these tables is so old that the frequent
 * garbage collections leave it out, it keeps all later tables, and so most messages that were ever in them, until the
 * next full collection. A new Map from time to time ends this chain.
 */
export class LiveMap<K, V> {
  #map = new Map<K, V>();
  #additions = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    if (++this.#additions > RENEW_AFTER + this.#map.size) {
      this.#additions = 0;
      const old = this.#map;
      this.#map = new Map(old);
      // Nothing is left in it if it is old, too.
      old.clear();
    }
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
    this.#map = new Map();
  }

  /** The keys as they are now. */
  keys(): K[] {
    return [...this.#map.keys()];
  }
}

/** A Set whose members come and go with messages (`LiveMap`). */
export class LiveSet<T> {
  readonly #members = new LiveMap<T, true>();

  get size(): number {
    return this.#members.size;
  }

  add(member: T): void {
    this.#members.set(member, true);
  }

  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  clear(): void {
    this.#members.clear();
  }

  /** Goes over the members as they are now, except those that are deleted meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const member of this.#members.keys()) if (this.#members.has(member)) yield member;
  }
}
