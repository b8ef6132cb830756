/** What ends a run from outside: its deadline, and the daemon's stop. */
export interface RunLimit {
  /** Aborts with either. */
  readonly signal: AbortSignal;
  /** The deadline has passed. */
  readonly passed: boolean;
  /** To be called when the run is over. */
  lift(): void;
}

/**
 * A listener that is taken away again: `AbortSignal.any` would leave weak references with every message, and
 * their collection costs more than the run's own way.
 * @param ms AGENT_TIMEOUT_SECONDS, in ms.
 */
export function limitRun(ms: number, stopping: AbortSignal): RunLimit {
  const end = new AbortController();
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    end.abort();
  }, ms);
  const stop = () => end.abort(stopping.reason);
  if (stopping.aborted) stop();
  else stopping.addEventListener('abort', stop, { once: true });
  return {
    signal: end.signal,
    get passed() {
      return passed;
    },
    lift() {
      clearTimeout(timer);
      stopping.removeEventListener('abort', stop);
    },
  };
}
