import { setImmediate } from 'node:timers';

/** Work that is under way; the first piece of each is next in its turn. */
const queue: (() => boolean)[] = [];

/**
 * Does work piece by piece. In one turn of the event loop a single piece is done, of whatever work is under way:
 * ten long replies at once hold the loop no longer than one.
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
