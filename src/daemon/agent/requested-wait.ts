import type { PassingFailure } from './agent.ts';

/** The wait that a failed run requests before the next run, in seconds; 0 if it requests none. */
export function requestedWait(failure: unknown): number {
  const { passing, retryAfterSeconds } = (failure ?? {}) as Partial<Record<keyof PassingFailure, unknown>>;
  const asks = passing === true && typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0;
  return asks ? retryAfterSeconds : 0;
}
