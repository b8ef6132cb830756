import { setMaxListeners } from 'node:events';
import { HistorySummaries } from './message/run/summaries.ts';
import type { Services } from './message/services.ts';
import { RunSlots } from './message/waits/run-slots.ts';
import { SessionLock } from './message/waits/session-lock.ts';
import { WaitLimit } from './message/waits/wait-limit.ts';
import { ClaimKeeper } from './store/claims/claim-keeper.ts';
import { Broadcaster } from './stream/broadcaster.ts';
import { Readers } from './stream/readers.ts';
import { RunGate } from './stream/run-gate.ts';
import type { StreamServices } from './stream/stream-services.ts';
import { Tickets } from './time/tickets.ts';
import { onAbort } from './time/time-limit.ts';

/** The services that the composition root makes itself, since they depend on how the daemon is started. */
type GivenServices = Omit<Services, 'sequencer' | 'sessions' | 'runs' | 'summaries' | 'claims' | 'running'>;

/**
 * Makes the services of one daemon from the given services. The code that stops the daemon must stop `summaries` and
 * `claims`.
 */
export function createServices(given: GivenServices): StreamServices {
  const { clock, log, store, stopping } = given;
  // Each run adds a listener.
  setMaxListeners(0, stopping);
  // The one listener of `onAbort` then stays, instead of coming and going with each run that is alone.
  onAbort(stopping, () => {});
  const claims = new ClaimKeeper(clock, log);
  const waits = new WaitLimit(clock, stopping, {
    get max() {
      return services.settings.AGENT_QUEUE_MAX;
    },
    get wait_ms() {
      return services.settings.AGENT_QUEUE_WAIT_SECONDS * 1000;
    },
  });
  const services: StreamServices = {
    ...given,
    sequencer: new Tickets(),
    sessions: new SessionLock({ store, claims, clock, waits }),
    runs: new RunSlots(() => services.settings.AGENT_CONCURRENCY, waits),
    summaries: new HistorySummaries(() => services),
    claims,
    broadcaster: new Broadcaster({ streams: store.streams, clock, log }),
    readers: new Readers(),
    gate: new RunGate(),
    streaming: new Set(),
    running: new Set(),
  };
  return services;
}
