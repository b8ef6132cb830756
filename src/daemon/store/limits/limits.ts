import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { hitWindow, type Moment } from './hit-window.ts';

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
