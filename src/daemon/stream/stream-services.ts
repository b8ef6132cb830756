import type { Services } from '../services.ts';
import type { Broadcaster } from './broadcaster.ts';
import type { Readers } from './readers.ts';

/** The services of event streams, beside those of every message. */
export interface StreamServices extends Services {
  /** Hands the events of streams to their readers. */
  broadcaster: Broadcaster;
  /** The readers, counted. */
  readers: Readers;
  /** Runs whose events go onto a stream. */
  streaming: Set<Promise<void>>;
}
