import { Cancellation } from '../../src/daemon/time/time-limit.ts';

/** A cancellation that ends when the signal aborts, with its reason; never if there is no signal. */
export function endsWith(signal?: AbortSignal): Cancellation {
  const cancellation = new Cancellation();
  const end = () => cancellation.end(() => signal?.reason);
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end, { once: true });
  return cancellation;
}
