import type { Log } from '../process/log.ts';
import { REAP_MS } from '../store/claims.ts';
import type { StreamStore } from '../store/streams.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { INTERRUPTED } from './events.ts';

/**
 * Ends streams whose run was abandoned or died with its process. Their last event is `error` with the code
 * `interrupted`. Checks at once, for the streams of the previous process, and then at regular intervals.
 * @returns a function that stops the reaper.
 */
export async function startReaper(
  streams: Pick<StreamStore, 'reap'>,
  clock: AlarmClock,
  log: Log,
): Promise<() => Promise<void>> {
  const { event, data } = INTERRUPTED;
  const reap = async () => {
    try {
      const dead = await streams.reap({ event, data: JSON.stringify(data) });
      if (dead > 0) log.warn({ streams: dead }, 'streams ended as interrupted: their runs had died');
    } catch (error) {
      log.warn({ err: error }, 'could not end streams of runs that died; will try again');
    }
  };
  await reap();
  return every(clock, REAP_MS, reap);
}
