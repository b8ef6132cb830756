import { setImmediate } from 'node:timers';

/** Maximum time that the steps of one tick may take together, ms. A single step may take longer. */
const TICK_MS = 5;

/** The running conversions. Each function runs the next step of a conversion, and returns true after the last step. */
const queue: (() => boolean)[] = [];

/**
 * Runs the steps of a conversion. In each tick of the event loop, the conversions run their steps in turn, for a
 * limited time in total. Ten long replies at once therefore block the loop no longer than one long reply, and a hundred
 * short replies can be converted in the same tick.
 */
export function inPieces<Result>(work: Generator<void, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    queue.push(() => {
      try {
        const step = work.next();
        if (step.done) resolve(step.value);
        return step.done === true;
      } catch (error) {
        reject(error);
        return true;
      }
    });
    if (queue.length === 1) setImmediate(doPieces);
  });
}

function doPieces(): void {
  const ends_at = performance.now() + TICK_MS;
  do {
    const next = queue.shift();
    if (next?.() === false) queue.push(next);
  } while (queue.length > 0 && performance.now() < ends_at);
  if (queue.length > 0) setImmediate(doPieces);
}
