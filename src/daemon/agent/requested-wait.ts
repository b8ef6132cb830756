import type { PassingFailure } from './agent.ts';

/** How long a failed run asks to wait before the next one, in seconds; 0 if it does not. */
export function requestedWait(failure: unknown): number {
  const { passing, retryAfterSeconds } = (failure ?? {}) as Partial<Record<keyof PassingFailure, unknown>>;
  const asks = passing === true && typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0;
  return asks ? retryAfterSeconds : 0;
}
