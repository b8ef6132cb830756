/** What ends a run from outside: its deadline, the daemon's stop, its person's. */
export interface RunLimit {
  /** Aborts with the first of them. */
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
 * @param stops what else ends it.
 */
export function limitRun(ms: number, stops: readonly AbortSignal[]): RunLimit {
  const end = new AbortController();
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    end.abort();
  }, ms);
  const stop = () => end.abort(stops.find(({ aborted }) => aborted)?.reason);
  for (const signal of stops) signal.addEventListener('abort', stop, { once: true });
  if (stops.some(({ aborted }) => aborted)) stop();
  return {
    signal: end.signal,
    get passed() {
      return passed;
    },
    lift() {
      clearTimeout(timer);
      for (const signal of stops) signal.removeEventListener('abort', stop);
    },
  };
}
