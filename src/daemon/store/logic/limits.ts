import { type Hit, hitsOf, listHits } from '../../guard/hits.ts';
import { hitWindow } from '../hit-window.ts';
import type { Kernel, Kind } from '../kernels/kernel.ts';
import type { LimitStore } from '../limits.ts';

/** The hits of a request limit, in a short form: a window may have thousands of them. */
interface StoredHits {
  /** The time from which the others are counted. */
  since: number;
  /** For each hit, its time and how much later it was counted. */
  hits: number[];
  expires_at: number;
}

export const LIMIT: Kind<StoredHits> = { name: 'limit', expires: ({ expires_at }) => expires_at };

export function limitStore(kernel: Kernel): LimitStore {
  return {
    hit: (key, limit) =>
      kernel.step(
        (tx) => {
          const found = tx.get(LIMIT, key);
          const { state, hits, expires_at } = hitWindow(found && hitsOf(unpacked(found)), limit, tx.now);
          tx.put(LIMIT, key, { ...packed(listHits(hits)), expires_at });
          return state;
        },
        { lazy: true },
      ),
  };
}

function packed(hits: readonly Hit[]): Pick<StoredHits, 'since' | 'hits'> {
  const since = hits[0]?.at ?? 0;
  return { since, hits: hits.flatMap(({ at, counted_at }) => [at - since, counted_at - at]) };
}

function unpacked({ since, hits }: StoredHits): Hit[] {
  const found: Hit[] = [];
  for (let place = 0; place < hits.length; place += 2) {
    const at = since + (hits[place] as number);
    found.push({ at, counted_at: at + (hits[place + 1] as number) });
  }
  return found;
}
