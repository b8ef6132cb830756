import { setImmediate } from 'node:timers';

/** Conversions that are running. Their next steps take turns. */
const queue: (() => boolean)[] = [];

/**
 * Runs the steps of a conversion. One tick of the event loop runs one step of one conversion: ten long replies at
 * once block the loop no longer than one.
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
    if (queue.length === 1) setImmediate(doPiece);
  });
}

function doPiece(): void {
  const next = queue.shift();
  if (next?.() === false) queue.push(next);
  if (queue.length > 0) setImmediate(doPiece);
}
