import type { StreamServices } from '../stream/stream-services.ts';
import type { Gauges } from './metrics.ts';

/** The gauges of a daemon with these services. */
export function gaugesOf(services: StreamServices): Gauges {
  const { runs, streaming, broadcaster, store, clock } = services;
  return {
    runs: () => ({ running: runs.running, waiting: runs.waiting }),
    streams: () => ({ running: streaming.size, read: broadcaster.size }),
    inbox: async () =>
      (await store.inbox.counts()).map(({ platform, state, messages, oldest_at }) => ({
        platform,
        state,
        messages,
        oldest_seconds: state === 'failed' ? null : Math.max(0, (clock.now() - oldest_at) / 1000),
      })),
  };
}
