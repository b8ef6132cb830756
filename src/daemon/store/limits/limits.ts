import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';

/** Request limits: sliding windows of hits. A refused hit does not count. */
export interface LimitStore {
  /**
   * Counts a hit. The count is exact at once, even if many daemons ask at the same time. The hit is durable with the
   * next commit of the store. Therefore, data that a request stores after its hit is never durable without the hit,
   * unless a commit failed in between. A crash may lose the hits of requests that had stored nothing yet, so a hit by
   * itself must not lead to an acknowledgment.
   */
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** The number of hits that the window still has room for. */
  remaining: number;
  /**
   * `retry_after_ms`: until there is room for another hit; 0 if there is room now. `reset_ms`: until the window is
   * empty.
   */
  retry_after_ms: number;
  reset_ms: number;
}

/** A request limit, and the moments of its hits: for each, its time after `since`, and how many hits it has. */
interface StoredLimit {
  expires_at: number;
  since: number;
  moments: readonly number[];
}

export const LIMIT: Kind<StoredLimit> = {
  name: 'limit',
  expires: ({ expires_at }) => expires_at,
  isUnshared: true,
};

export function limitStore(kernel: Kernel): LimitStore {
  return { hit: (key, limit) => kernel.step((tx) => hit(tx, key, limit), { lazy: true }) };
}

function hit(tx: Tx, key: string, limit: Parameters<LimitStore['hit']>[1]): WindowState {
  const { state, moments, expires_at } = hitWindow(unpacked(tx.get(LIMIT, key)), limit, tx.now);
  const since = moments[0]?.at ?? 0;
  tx.put(LIMIT, key, { expires_at, since, moments: moments.flatMap(({ at, hits }) => [at - since, hits]) });
  return state;
}

function unpacked(stored: StoredLimit | null): Moment[] {
  if (stored === null) return [];
  const { since, moments } = stored;
  return Array.from({ length: moments.length / 2 }, (_, n) => ({
    at: since + (moments[2 * n] as number),
    hits: moments[2 * n + 1] as number,
  }));
}

/** Hits that count as one moment. */
export interface Moment {
  /** When the last of them happened, ms since the epoch. */
  readonly at: number;
  readonly hits: number;
}

/** Each hit has its own moment as long as there are not more of them in the window than this. */
const MOMENTS_MAX = 256;
/**
 * Otherwise, so many parts of the window are one moment each. A hit then counts longer by up to such a part, and a hit
 * costs the same however many there are.
 */
const PARTS = 200;

/**
 * Counts a hit of a request limit (`LimitStore.hit`).
 * @param found the stored hits, oldest first
 * @returns the hits that count now, including the new one unless it is refused; and when they no longer count, ms since
 *   the epoch
 */
export function hitWindow(
  found: readonly Moment[],
  { max, window_ms }: { max: number; window_ms: number },
  now: number,
): { state: WindowState; moments: readonly Moment[]; expires_at: number } {
  const before = momentsAt(found, now, window_ms);
  const used = countHits(before);
  const allowed = used < max;
  const moments = allowed ? withHit(before, now, window_ms) : before;
  const remaining = allowed ? max - used - 1 : 0;
  const frees_at = remaining > 0 ? null : timeOfHit(moments, used + (allowed ? 1 : 0) - max);
  const last = moments.at(-1)?.at ?? now;
  return {
    state: {
      allowed,
      remaining,
      retry_after_ms: frees_at === null ? 0 : frees_at + window_ms - now,
      reset_ms: last + window_ms - now,
    },
    moments,
    expires_at: last + window_ms,
  };
}

/**
 * The moments within the window. If some are in the future, the clock was set back: then all are moved back by the same
 * amount, so that nobody waits longer than a window. If they would move by more than the window, none of them counts.
 */
function momentsAt(found: readonly Moment[], now: number, window_ms: number): readonly Moment[] {
  const ahead = Math.max(0, (found.at(-1)?.at ?? now) - now);
  if (ahead > window_ms) return [];
  const counts = found.filter(({ at }) => at - ahead > now - window_ms);
  return ahead === 0 ? counts : counts.map(({ at, hits }) => ({ at: at - ahead, hits }));
}

function countHits(moments: readonly Moment[]): number {
  return moments.reduce((sum, { hits }) => sum + hits, 0);
}

/** The time of a hit. @param earlier how many hits were before it */
function timeOfHit(moments: readonly Moment[], earlier: number): number | null {
  let last = 0;
  for (const { at, hits } of moments) {
    last += hits;
    if (last > earlier) return at;
  }
  return null;
}

function withHit(moments: readonly Moment[], now: number, window_ms: number): readonly Moment[] {
  const last = moments.at(-1);
  if (last?.at === now) return moments.with(-1, { at: now, hits: last.hits + 1 });
  const all = [...moments, { at: now, hits: 1 }];
  return all.length > MOMENTS_MAX ? joined(all, window_ms / PARTS) : all;
}

/** The moments, of which those in the same part of time are one. @param part ms */
function joined(moments: readonly Moment[], part: number): Moment[] {
  const kept: Moment[] = [];
  for (const { at, hits } of moments) {
    const last = kept.at(-1);
    const isSame = last !== undefined && Math.floor(last.at / part) === Math.floor(at / part);
    if (isSame) kept[kept.length - 1] = { at, hits: last.hits + hits };
    else kept.push({ at, hits });
  }
  return kept;
}
