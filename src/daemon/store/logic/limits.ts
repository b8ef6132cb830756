import { type Hit, hitsOf, listHits } from '../../guard/hits.ts';
import { hitWindow } from '../hit-window.ts';
import type { Kernel, Kind } from '../kernels/kernel.ts';
import type { LimitStore } from '../limits.ts';

/** The hits of a request limit. */
export const LIMIT: Kind<{ hits: Hit[]; expires_at: number }> = {
  name: 'limit',
  expires: ({ expires_at }) => expires_at,
};

export function limitStore(kernel: Kernel): LimitStore {
  return {
    hit: (key, limit) =>
      kernel.step(
        (tx) => {
          const found = tx.get(LIMIT, key);
          const { state, hits, expires_at } = hitWindow(found && hitsOf([...found.hits]), limit, tx.now);
          tx.put(LIMIT, key, { hits: listHits(hits), expires_at });
          return state;
        },
        { lazy: true },
      ),
  };
}
