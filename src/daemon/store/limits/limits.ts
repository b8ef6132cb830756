import { type Hit, hitCount, listHits, toHits } from '../../guard/hits.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { hitWindow } from './hit-window.ts';

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

/** A request limit, and its hits: in the document, or in its list. */
interface StoredLimit {
  expires_at: number;
  /** For each hit, its time after `since`, and how much later it was counted. */
  hits?: { since: number; times: number[] };
  /** How many hits of the list no longer count. */
  dropped?: number;
}

/** A hit in the list: only its time if it was counted when it happened. */
type ListedHit = number | readonly [at: number, counted_at: number];

export const LIMIT: Kind<StoredLimit, ListedHit> = {
  name: 'limit',
  expires: ({ expires_at }) => expires_at,
  hasList: true,
  isUnshared: true,
};

/** How many hits are in the document where lists are at hand: a few are cheaper there than in rows of their own. */
const FEW = 50;
/** How many dropped hits may be in the list before it is written anew without them. */
const DROPPED_MAX = 50;

export function limitStore(kernel: Kernel): LimitStore {
  // On a server, a list would be one more trip for each hit, and could not be read before the hits under way.
  const few = kernel.hasLocalLists ? FEW : Number.POSITIVE_INFINITY;
  return { hit: (key, limit) => kernel.step((tx) => hit(tx, key, limit, few), { lazy: true }) };
}

/** @param few beyond so many hits, they are in the list: then each hit costs the same, however many there are */
function hit(tx: Tx, key: string, limit: Parameters<LimitStore['hit']>[1], few: number): WindowState {
  const { hits: stored, dropped } = tx.get(LIMIT, key) ?? {};
  const isListed = dropped !== undefined;
  const before = isListed ? tx.items(LIMIT, key, dropped).map(fromList) : unpacked(stored);
  const found = toHits(before);
  const { state, hits, added, expires_at } = hitWindow(found, limit, tx.now);
  if (!isListed && hitCount(hits) <= few) tx.put(LIMIT, key, { expires_at, hits: packed(listHits(hits)) });
  else if (isListed && hits === found) tx.put(LIMIT, key, { dropped, expires_at });
  else {
    const drops = (dropped ?? 0) + (added?.dropped ?? 0);
    const isAppended = isListed && added !== null && drops <= Math.max(DROPPED_MAX, hitCount(hits));
    tx.put(LIMIT, key, { dropped: isAppended ? drops : 0, expires_at });
    if (isAppended) tx.append(LIMIT, key, [toList(added.hit)]);
    else tx.rewrite(LIMIT, key, listHits(hits).map(toList));
  }
  return state;
}

function packed(hits: readonly Hit[]): StoredLimit['hits'] & {} {
  const since = hits[0]?.at ?? 0;
  return { since, times: hits.flatMap(({ at, counted_at }) => [at - since, counted_at - at]) };
}

function unpacked({ since, times }: StoredLimit['hits'] & {} = { since: 0, times: [] }): Hit[] {
  const found: Hit[] = [];
  for (let place = 0; place < times.length; place += 2) {
    const at = since + (times[place] as number);
    found.push({ at, counted_at: at + (times[place + 1] as number) });
  }
  return found;
}

function fromList(stored: ListedHit): Hit {
  if (typeof stored === 'number') return { at: stored, counted_at: stored };
  return { at: stored[0], counted_at: stored[1] };
}

function toList({ at, counted_at }: Hit): ListedHit {
  return at === counted_at ? at : [at, counted_at];
}
