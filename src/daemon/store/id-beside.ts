import type { Store } from './store.ts';

/**
 * On average, one of 64 ids is in the shard of a given name (`SHARDS`). The probability that this many tries all fail
 * is 10^-28.
 */
const TRIES_MAX = 4096;

/**
 * Makes an id whose records are in the same shard as the records of a name (`Store.lieTogether`). If the store has no
 * shards, the first try succeeds.
 * @param make is called with the number of the try, from 0.
 */
export function idBeside(
  store: Pick<Store, 'lieTogether'>,
  name: string,
  make: (tried: number) => string,
): string {
  for (let tried = 0; ; tried++) {
    const id = make(tried);
    if (tried === TRIES_MAX || store.lieTogether(id, name)) return id;
  }
}
