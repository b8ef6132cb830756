import { setImmediate } from 'node:timers';

/** How long the steps of one tick may take together, ms; a single step may take longer. */
const TICK_MS = 5;

/** Conversions that are running. Their next steps take turns. */
const queue: (() => boolean)[] = [];

/**
 * Runs the steps of a conversion. In each tick of the event loop, the conversions run their steps in turn, for a
 * limited time in total: ten long replies at once block the loop no longer than one, and a hundred short replies do not
 * wait for each other's ticks.
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
