import type { Services } from '../message/services.ts';
import { every } from '../time/clock.ts';

/** How often a run checks for a request to stop if hints of the store can be lost, ms. */
export const LOOK_MS = 1000;

type Parts = Pick<Services, 'store' | 'clock' | 'log'>;

/** Notices a request to stop a run, through a hint of the store or by reading the store regularly. */
export class StopRequest {
  readonly #parts: Parts;
  readonly #stream_id: string;
  readonly #requested = new AbortController();
  readonly #endings: (() => void)[];

  /** Notices every request that is made after its creation, so create it before the stream is claimed. */
  constructor(parts: Parts, stream_id: string) {
    const { clock, store } = parts;
    this.#parts = parts;
    this.#stream_id = stream_id;
    const look = () => this.#look();
    this.#endings = [store.streams.subscribe(stream_id, (change) => void (change === 'stop' && look()))];
    if (store.streams.hintsMayBeLost) this.#endings.push(every(clock, LOOK_MS, look));
  }

  /** Aborts when somebody requests to stop the run. */
  get signal(): AbortSignal {
    return this.#requested.signal;
  }

  /** Stops checking for requests. */
  close(): void {
    for (const end of this.#endings) end();
  }

  async #look(): Promise<void> {
    const { store, log } = this.#parts;
    try {
      const stream = await store.streams.find(this.#stream_id);
      if (stream?.stop_requested) this.#requested.abort(new Error('the person stopped the answer'));
    } catch (error) {
      log.warn({ err: error }, 'could not read a request to stop a stream; will try again');
    }
  }
}
