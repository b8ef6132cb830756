import { StoreUnavailable } from '../errors.ts';
import type { StreamServices } from '../stream/stream-services.ts';
import { TimeLimit } from '../time/time-limit.ts';
import type { Gauges } from './metrics.ts';

/**
 * How long reading the inbox may take, ms. It is shorter than the time limit of usual scrapes: if a store hangs, the
 * other metrics must still be read, because the errors of the store are among them.
 */
const INBOX_MS = 2000;

type Counted = Pick<StreamServices, 'runs' | 'streaming' | 'broadcaster' | 'store' | 'memory' | 'clock'>;

/** The gauges of a daemon with these services. */
export function gaugesOf({ runs, streaming, broadcaster, store, memory, clock }: Counted): Gauges {
  const counts = async () => {
    const limit = new TimeLimit(clock, INBOX_MS);
    try {
      return await limit.within(store.inbox.counts());
    } catch (error) {
      throw limit.passed ? new StoreUnavailable(error) : error;
    } finally {
      limit.lift();
    }
  };
  return {
    runs: () => ({ running: runs.running, waiting: runs.waiting }),
    streams: () => ({ running: streaming.size, read: broadcaster.size }),
    memoryIsAvailable: () => memory?.isAvailable ?? null,
    lastBackupAt: () => store.maintenance?.lastBackupAt() ?? null,
    inbox: async () =>
      (await counts()).map(({ platform, state, messages, oldest_at }) => ({
        platform,
        state,
        messages,
        oldest_seconds: state === 'failed' ? null : Math.max(0, (clock.now() - oldest_at) / 1000),
      })),
  };
}
