import {
  type AddedHit,
  addedHit,
  addHit,
  countSince,
  type Hits,
  hitsAt,
  hitsOf,
  newestHit,
} from '../guard/hits.ts';
import type { WindowState } from './limits.ts';

export interface WindowHit {
  state: WindowState;
  /** The hits after this one; the same value as before if it was refused. */
  hits: Hits;
  /** Set if the hits changed by nothing but this one (`addHit`), so that a log can store it alone. */
  added: AddedHit | null;
  /** How long the hits are stored. */
  expires_at: number;
}

/**
 * A hit of a request limit (`LimitStore.hit`). Backends call it in one atomic step with reading and writing the hits.
 * @param found null: none are stored.
 */
export function hitWindow(
  found: Hits | null,
  { max, window_ms }: { max: number; window_ms: number },
  now: number,
): WindowHit {
  const before = hitsAt(found ?? hitsOf(), now, window_ms);
  const allowed = countSince(before, now - window_ms) < max;
  const added = allowed ? addedHit(before, { at: now, counted_at: now }, window_ms) : null;
  const hits = added ? addHit(before, added) : before;
  const used = countSince(hits, now - window_ms);
  const last = newestHit(hits)?.at ?? now;
  // If the limit was lowered, the window may hold more hits than the limit allows.
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
