import { setTimeout as wait } from 'node:timers/promises';
import { StoreUnavailable } from '../../errors.ts';
import type { Tx } from './kernel.ts';
import type { OptimisticTx, Pending, Stored } from './optimistic-tx.ts';

/** The result of one run of a step. */
export interface Run<T> {
  readonly tx: T;
  readonly result: unknown;
  /** What the work has thrown. */
  readonly thrown: { error: unknown } | null;
}

export function run<T extends Tx>(work: (tx: Tx) => unknown, tx: T): Run<T> {
  try {
    return { tx, result: work(tx), thrown: null };
  } catch (error) {
    return { tx, result: null, thrown: { error } };
  }
}

/**
 * The run of a step after those of earlier steps of the trip. Its changes are then pending, too.
 * @param again runs the step on what is pending
 * @returns null if the step needs to read more, or fails. It then runs by itself: what it would do now is known only when
 *   the earlier steps are stored.
 */
export function runAfter<Version extends Stored, T extends OptimisticTx<Version>>(
  pending: Pending<Version>,
  first: Run<T>,
  again: () => Run<T>,
): Run<T> | null {
  const found = first.tx.isCurrent(pending) ? first : again();
  if (found.thrown !== null || found.tx.missing.length > 0) return null;
  pending.add(found.tx.visibleChanges);
  pending.last = Math.max(pending.last, found.tx.last);
  return found;
}

/** How often a step is tried, and how long it waits before it is tried again. */
interface Retries {
  max: number;
  /** From this attempt on, it waits. */
  hurried: number;
  /** The longest wait at the first attempt, and at all, ms. */
  step_ms: number;
  max_ms: number;
}

/**
 * Tries a step until no other one has changed what it reads.
 * @param attempt resolves to null if another step was faster
 */
export async function untilStored<R>(
  attempt: () => Promise<{ result: R } | null>,
  { max, hurried, step_ms, max_ms }: Retries,
): Promise<R> {
  for (let tries = 1; ; tries++) {
    const done = await attempt();
    if (done !== null) return done.result;
    if (tries === max) throw new StoreUnavailable(new Error(`a step was overtaken ${max} times`));
    // A random time, so that steps do not overtake each other again.
    if (tries >= hurried) await wait(Math.random() * Math.min(max_ms, step_ms * tries));
  }
}
