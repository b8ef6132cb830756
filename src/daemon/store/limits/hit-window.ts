import {
  type AddedHit,
  addedHit,
  addHit,
  countSince,
  type Hits,
  hitsAt,
  newestHit,
  toHits,
} from '../../guard/hits.ts';
import type { WindowState } from './limits.ts';

interface WindowHit {
  state: WindowState;
  /** The hits including the new one. Unchanged if the new one was refused. */
  hits: Hits;
  /** The hit, if adding it (`addHit`) is the only change. A log then needs to store only this hit. Null otherwise. */
  added: AddedHit | null;
  /** When the hits are no longer needed, ms since the epoch. */
  expires_at: number;
}

/**
 * Counts a hit of a request limit (`LimitStore.hit`).
 * @param found the stored hits; null if there are none.
 */
export function hitWindow(
  found: Hits | null,
  { max, window_ms }: { max: number; window_ms: number },
  now: number,
): WindowHit {
  const before = hitsAt(found ?? toHits(), now, window_ms);
  const allowed = countSince(before, now - window_ms) < max;
  const added = allowed ? addedHit(before, { at: now, counted_at: now }, window_ms) : null;
  const hits = added ? addHit(before, added) : before;
  const used = countSince(hits, now - window_ms);
  const last = newestHit(hits)?.at ?? now;
  // If the limit was lowered, the window may contain more hits than the limit allows.
  const frees = used < max ? undefined : newestHit(hits, max)?.at;
  return {
    state: {
      allowed,
      remaining: Math.max(0, max - used),
      retry_after_ms: frees === undefined ? 0 : frees + window_ms - now,
      reset_ms: last + window_ms - now,
    },
    hits,
    added: before === found ? added : null,
    expires_at: last + window_ms,
  };
}
