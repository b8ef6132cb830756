import { type Hit, hitCount, hitsOf, listHits } from '../../guard/hits.ts';
import { hitWindow } from '../hit-window.ts';
import type { Kernel, Kind } from '../kernels/kernel.ts';
import type { LimitStore } from '../limits.ts';

/** A hit as it is stored: only its time if it was counted when it happened. */
type StoredHit = number | readonly [at: number, counted_at: number];

/** A request limit. Its list are its hits, so that a hit costs the same however many there are. */
export const LIMIT: Kind<{ dropped: number; expires_at: number }, StoredHit> = {
  name: 'limit',
  expires: ({ expires_at }) => expires_at,
};

/** How many dropped hits may be in the list before it is written anew without them. */
const DROPPED_MAX = 50;

export function limitStore(kernel: Kernel): LimitStore {
  return {
    hit: (key, limit) =>
      kernel.step(
        (tx) => {
          const { dropped = 0 } = tx.get(LIMIT, key) ?? {};
          const before = hitsOf(tx.items(LIMIT, key, dropped).map(hitOf));
          const { state, hits, added, expires_at } = hitWindow(before, limit, tx.now);
          if (hits === before) {
            tx.put(LIMIT, key, { dropped, expires_at });
            return state;
          }
          const drops = dropped + (added?.dropped ?? 0);
          const isAppended = added !== null && drops <= Math.max(DROPPED_MAX, hitCount(hits));
          tx.put(LIMIT, key, { dropped: isAppended ? drops : 0, expires_at });
          if (isAppended) tx.append(LIMIT, key, [storedHit(added.hit)]);
          else tx.rewrite(LIMIT, key, listHits(hits).map(storedHit));
          return state;
        },
        { lazy: true },
      ),
  };
}

function hitOf(stored: StoredHit): Hit {
  if (typeof stored === 'number') return { at: stored, counted_at: stored };
  return { at: stored[0], counted_at: stored[1] };
}

function storedHit({ at, counted_at }: Hit): StoredHit {
  return at === counted_at ? at : [at, counted_at];
}
