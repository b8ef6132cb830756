import { modelFailure } from './model-failure.ts';

/** Maximum number of repeats of one model call. */
const MAX_RETRIES = 3;
/** The wait before the first repeat if the model does not ask for a wait, ms; doubled for each further repeat. */
const FIRST_WAIT_MS = 2000;

/**
 * Repeats a model call that fails for a temporary reason, after the wait that the model asks for, or else after a wait
 * that doubles each time. If the run has less time left than the wait, the call fails immediately. The error contains
 * the wait that the model asked for, if any, so that the inbox or the client knows when to try again.
 * @param deadline of the run, ms since the epoch
 */
export async function retryModelCall<T>(
  call: () => PromiseLike<T>,
  { signal, deadline }: { signal: AbortSignal; deadline: number },
): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await call();
    } catch (error) {
      const { passing, retryAfterSeconds } = modelFailure(error);
      const wait_ms =
        retryAfterSeconds === undefined ? FIRST_WAIT_MS * 2 ** retries : retryAfterSeconds * 1000;
      if (!passing || retries === MAX_RETRIES || Date.now() + wait_ms >= deadline) throw error;
      await waitUnlessAborted(wait_ms, signal);
    }
  }
}

/** Rejects with the reason of the signal as soon as the signal aborts. */
function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
}
