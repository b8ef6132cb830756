import type { Log } from '../log.ts';
import type { StreamStore } from '../store/streams.ts';
import { INTERRUPTED } from './events.ts';

/** How often runs that died are looked for, ms. */
const REAP_INTERVAL_MS = 5000;

/**
 * Ends the streams whose run died with its process, or was given up, in `error` with the code `interrupted`
 * (decisions §5): at once for those of the process before this one, then now and then. The result stops it.
 */
export async function startReaper(
  streams: Pick<StreamStore, 'reap'>,
  log: Log,
): Promise<() => Promise<void>> {
  const { event, data } = INTERRUPTED;
  const reap = async () => {
    try {
      const dead = await streams.reap({ event, data: JSON.stringify(data) });
      if (dead > 0) log.warn({ streams: dead }, 'streams ended as interrupted: their runs had died');
    } catch (error) {
      log.warn({ err: error }, 'streams of runs that died could not be ended; tried again later');
    }
  };
  await reap();
  let reaping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    reaping = reaping.then(reap);
  }, REAP_INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return reaping;
  };
}
