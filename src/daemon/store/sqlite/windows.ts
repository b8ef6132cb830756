import type { Hit } from '../../guard/layers.ts';
import { mostWithin } from '../../guard/most-within.ts';

/** A hit that was counted; ms since the epoch. */
export interface CountedHit {
  /** When it happened. */
  at: number;
  /** When it was counted, by the store's clock; later than `at` where it was told late. */
  counted_at: number;
}

export interface Window {
  max: number;
  window_ms: number;
}

/** What became of a hit, and the hits of its key from now on. */
export interface WindowHit extends Hit {
  /** Of what stands in the window now: when the first and the last happened. */
  first: number;
  last: number;
  hits: readonly CountedHit[];
}

/**
 * Counts a hit in an exact sliding window, the primitive under the loop guard, where that
 * makes no window hold more than `max`. A hit at `at` counts while the time is < at + window; one that would
 * be too many is not counted.
 * @param hits of its key, in the order of time.
 * @param now of the store's clock.
 * @param at when it happened, at most `now`; not before the newest of its key (`countSentHit` takes those).
 */
export function countHit(
  hits: readonly CountedHit[],
  { max, window_ms }: Window,
  now: number,
  at: number = now,
): WindowHit {
  const after = at - window_ms;
  const newest = hits.at(-1);
  // Hits of the future: the clock was set back. Kept, they would refuse until it has caught up.
  const setBack = newest !== undefined && newest.at > now + window_ms;
  const kept = setBack ? [] : hits.filter((hit) => hit.at > after || isKept(hit, window_ms, now));
  const inWindow = kept.filter((hit) => hit.at > after);
  const count = inWindow.length + 1;
  // Times never fall, also where the clock went back a little.
  const last = Math.max(at, kept.at(-1)?.at ?? 0);
  const first = inWindow[0]?.at ?? last;
  if (count > max) return { allowed: false, count, first, last: kept.at(-1)?.at ?? last, hits: kept };
  kept.push({ at: last, counted_at: Math.max(last, now) });
  return { allowed: true, count, first, last, hits: kept };
}

/** The same for a hit that happened at `sent_at`, at most `now`; hits may come in any order. */
export function countSentHit(
  hits: readonly CountedHit[],
  window: Window,
  now: number,
  sent_at: number,
): Hit & Pick<WindowHit, 'hits'> {
  const newest = hits.at(-1);
  const overtaken = newest && sent_at < newest.at && newest.at <= now + window.window_ms;
  return overtaken ? countLateHit(hits, window, now, sent_at) : countHit(hits, window, now, sent_at);
}

/** One that others overtook: the windows before and behind it are looked at, and it takes its place in time. */
function countLateHit(
  hits: readonly CountedHit[],
  { max, window_ms }: Window,
  now: number,
  at: number,
): Hit & Pick<WindowHit, 'hits'> {
  const around = hits.filter((hit) => hit.at > at - window_ms && hit.at < at + window_ms);
  const times = around.map((hit) => hit.at);
  const count = mostWithin(times, at, window_ms);
  if (count > max) return { allowed: false, count, hits };
  const behind = hits.findIndex((hit) => hit.at > at);
  return { allowed: true, count, hits: hits.toSpliced(behind, 0, { at, counted_at: now }) };
}

/** Whether a hit outside the newest window is kept: others of its time may still be told late. */
export function isKept({ at, counted_at }: CountedHit, window_ms: number, now: number): boolean {
  return Math.max(at, counted_at) + window_ms > now;
}

/** Hits for JSON: the first one's time and the steps to the next ones, and how late each was told, if any was. */
export type PackedHits = [steps: number[], late?: number[]];

export function packHits(hits: readonly CountedHit[]): PackedHits {
  let before = 0;
  const steps = hits.map(({ at }) => {
    const step = at - before;
    before = at;
    return step;
  });
  if (hits.every(({ at, counted_at }) => counted_at <= at)) return [steps];
  return [steps, hits.map(({ at, counted_at }) => counted_at - at)];
}

/** @param packed by `packHits`. */
export function unpackHits([steps, late]: PackedHits): CountedHit[] {
  let at = 0;
  return steps.map((step, place) => {
    at += step;
    return { at, counted_at: at + (late?.[place] ?? 0) };
  });
}
