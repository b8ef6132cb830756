/** A map of at most `max` entries. Beyond that, the entry that was set the longest time ago is forgotten. */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.size > this.#max ? this.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }
}
