import type { Log } from '../log.ts';
import type { Store } from './store.ts';

/** How often expired rows are deleted, ms; expiry itself is decided at each read. */
const SWEEP_INTERVAL_MS = 30_000;

/** How often the store is looked after while it cannot be written, and looked at otherwise, ms. */
const LOOK_INTERVAL_MS = 5000;

/** The first look, ms after the start: it makes the reserve, which must not make the start slower. */
const FIRST_LOOK_MS = 1000;

/**
 * Deletes expired rows now and then, a bounded bite at a time, and at every look while the store cannot be
 * written: only expiry may make room. Logs when the store cannot be written, and when it can be again.
 * @returns how to stop it.
 */
export function startSweeper(
  store: Pick<Store, 'maintenance' | 'check' | 'condition'>,
  log: Log,
): () => Promise<void> {
  let stopped = false;
  let looks = 0;
  let writable = true;
  let working: Promise<void> = Promise.resolve();

  const look = async () => {
    const due = looks++ % (SWEEP_INTERVAL_MS / LOOK_INTERVAL_MS) === 0;
    const { writable: before, detail } = store.condition();
    report(before, detail);
    if (due || !before) await sweep();
    if (before || stopped) return;
    // Nothing else may be written meanwhile, so that nothing else shows that it can be.
    await store.check().catch(() => undefined);
    report(store.condition().writable, store.condition().detail);
  };
  const sweep = async () => {
    try {
      while (!stopped && ((await store.maintenance?.sweep()) ?? 0) > 0);
    } catch (error) {
      log.warn({ err: error }, 'expired rows could not be deleted; tried again later');
    }
  };
  const report = (now: boolean, detail: string | null) => {
    if (now === writable) return;
    writable = now;
    if (now) log.info({}, 'the store can be written again');
    else log.error({ detail }, 'the store cannot be written; new messages are refused if space is short');
  };

  const lookAgain = () => {
    working = working.then(look);
  };
  const first = setTimeout(lookAgain, FIRST_LOOK_MS).unref();
  const timer = setInterval(lookAgain, LOOK_INTERVAL_MS).unref();
  return () => {
    stopped = true;
    clearTimeout(first);
    clearInterval(timer);
    return working;
  };
}
