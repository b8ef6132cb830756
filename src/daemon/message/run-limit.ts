import { onAbort } from '../on-abort.ts';

/** What ends a run from outside: its deadline, the daemon's stop, its person's. */
export interface RunLimit {
  /** Aborts with the first of them. */
  readonly signal: AbortSignal;
  /** ms since the epoch. */
  readonly deadline: number;
  /** The deadline has passed. */
  readonly passed: boolean;
  /** To be called when the run is over. */
  lift(): void;
}

/**
 * Listeners that are taken away again: `AbortSignal.any` would leave weak references with every message, and
 * their collection costs more than the run's own way.
 * @param ms AGENT_TIMEOUT_SECONDS, in ms.
 * @param stopping aborts when the daemon stops.
 * @param stopped aborts when the person stops the answer; null: nobody can.
 */
export function limitRun(ms: number, stopping: AbortSignal, stopped: AbortSignal | null): RunLimit {
  const end = new AbortController();
  const deadline = Date.now() + ms;
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    end.abort();
  }, ms);
  const stop = () => end.abort((stopped?.aborted ? stopped : stopping).reason);
  const noMore = onAbort(stopping, stop);
  stopped?.addEventListener('abort', stop, { once: true });
  if (stopping.aborted || stopped?.aborted) stop();
  return {
    signal: end.signal,
    deadline,
    get passed() {
      return passed;
    },
    lift() {
      clearTimeout(timer);
      noMore();
      stopped?.removeEventListener('abort', stop);
    },
  };
}
