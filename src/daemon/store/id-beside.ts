import type { Store } from './store.ts';

/** One of 64 ids lies beside a name (`SHARDS`), so that this many tries fail once in 10^27. */
const TRIES_MAX = 4096;

/**
 * Makes an id whose records lie beside those of a name (`Store.lieTogether`). The first try is right if the store does
 * not spread records.
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
