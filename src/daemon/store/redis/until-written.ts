import { setTimeout } from 'node:timers/promises';
import { StoreUnavailable } from '../../errors.ts';

/** Number of attempts after which the store counts as unreachable. */
const ATTEMPTS_MAX = 100;
/** The longest pause between two attempts, ms. */
const PAUSE_MAX_MS = 20;

/**
 * Repeats an attempt to read, compute and write until nobody else has written in between. One of the competing callers
 * always succeeds; random pauses let the others follow.
 * @param attempt returns null if something was changed between its read and its write.
 */
export async function untilWritten<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
    const done = await attempt();
    if (done !== null) return done;
    if (attempts > 1) await setTimeout(Math.random() * Math.min(PAUSE_MAX_MS, attempts));
  }
  throw new StoreUnavailable(
    new Error(`a record was changed ${ATTEMPTS_MAX} times while it was being written`),
  );
}
