import type { Log } from '../process/log.ts';
import type { Store } from './store.ts';

/** How often expired rows are deleted, ms. Each read checks expiry itself, so the exact time does not matter. */
const SWEEP_INTERVAL_MS = 30_000;

/**
 * How often the daemon checks whether the store can be written, ms. While it cannot be written, expired rows are
 * deleted at each check.
 */
const LOOK_INTERVAL_MS = 5000;

/**
 * The time between the start and the first check, ms. The check creates the reserve, and this must not delay the start.
 */
const FIRST_LOOK_MS = 1000;

/**
 * Deletes expired rows regularly, in batches of limited size. While the store cannot be written, it deletes them at
 * every check, because this may be the only way to free space. Logs when the store cannot be written, and when it can
 * be written again.
 * @returns a function that stops the sweeper.
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
    // There may be no other writes now, so only a test write shows when the store can be written again.
    await store.check().catch(() => undefined);
    report(store.condition().writable, store.condition().detail);
  };
  const sweep = async () => {
    try {
      while (!stopped && ((await store.maintenance?.sweep()) ?? 0) > 0);
    } catch (error) {
      log.warn({ err: error }, 'could not delete expired rows; will try again');
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
