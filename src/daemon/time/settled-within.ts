/**
 * Resolves when all the work has settled, or after `ms`. Afterwards no timer is left: a timer would keep the process
 * alive after everything has stopped.
 */
export function settledWithin(work: Iterable<Promise<unknown>>, ms: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([Promise.allSettled(work), promise]).finally(() => clearTimeout(timer));
}
