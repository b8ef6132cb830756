import type { Services } from '../message/services.ts';
import type { Broadcaster } from './broadcaster.ts';
import type { Readers } from './readers.ts';
import type { RunGate } from './run-gate.ts';

/** The services of event streams, in addition to the services of every message. */
export interface StreamServices extends Services {
  /** Hands the events of streams to their readers. */
  broadcaster: Broadcaster;
  /** Counts and limits the readers. */
  readers: Readers;
  /** Lets runs begin after the requests that have arrived. */
  gate: Pick<RunGate, 'pass'>;
  /** The current runs that write their events to a stream. */
  streaming: Set<Promise<void>>;
}
