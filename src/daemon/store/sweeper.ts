import type { Log } from '../log.ts';
import type { Store } from './store.ts';

/** How often expired rows are deleted, ms; expiry itself is decided at each read. */
const SWEEP_INTERVAL_MS = 30_000;

/** Deletes what has expired, now and then, a bounded bite at a time; the result stops it. */
export function startSweeper(store: Store, log: Log): () => Promise<void> {
  let stopped = false;
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async () => {
    try {
      while (!stopped && (await store.sweep()) > 0);
    } catch (error) {
      log.warn({ err: error }, 'expired rows could not be deleted; tried again later');
    }
  };
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweep);
  }, SWEEP_INTERVAL_MS);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
    return sweeping;
  };
}
