import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import type { Services } from '../message/services.ts';
import type { StreamClaim } from '../store/claims/claims.ts';
import type { StreamRecord } from '../store/streams.ts';
import { every } from '../time/clock.ts';
import { Cancellation, TimeLimit } from '../time/time-limit.ts';
import { admitAgain, admitReader, findStream, refuseForeignPage } from './admit-reader.ts';
import { EventWriter } from './event-writer.ts';
import { StreamOutlet } from './stream-outlet.ts';
import type { StreamServices } from './stream-services.ts';

/** How long a request to stop a stream waits for the end of the stream, ms. */
const END_WAIT_MS = 5000;

/** The claimant of a stream that nobody opened. The stream keeps its owner. */
const NOBODY = { owner: null, reader: null } as const;

/**
 * Stops a stream: the text up to now becomes the reply. If the stream was never opened, it ends without text. If it has
 * ended, nothing changes. Resolves when the stream has ended, or after 5 seconds.
 * @throws `stream_not_found`, `token_missing`, `forbidden`.
 */
export async function stopStream(
  services: StreamServices,
  stream_id: string,
  request: ChannelRequest,
  tokens: StreamTokens,
): Promise<void> {
  const stream = await findStream(services, stream_id);
  refuseForeignPage(request, tokens, services.settings);
  await admitReader(services, stream, request, { tokens, after: 0 });
  if (stream.state === 'ended') return;
  const { streams } = services.store;
  const claim = stream.state === 'waiting' ? await streams.claim(stream_id, NOBODY) : null;
  if (claim) return endUnopened(services, claim, stream.start);
  if (stream.state === 'waiting') await admitAgain(services, stream_id, request, { tokens, after: 0 });
  await streams.requestStop(stream_id);
  const limit = new TimeLimit(services.clock, END_WAIT_MS, [services.stopping]);
  const end = { take: () => true, room: () => Promise.resolve(), signal: limit.signal };
  await services.broadcaster.follow(stream_id, stream.last_event, end).finally(() => limit.lift());
}

async function endUnopened(
  { store: { streams }, clock, log, observer, stopping }: StreamServices,
  claim: StreamClaim,
  { session_id, message }: StreamRecord['start'],
): Promise<void> {
  const { stream_id } = claim;
  const writer = new EventWriter({ streams, claim, clock, log });
  const outlet = new StreamOutlet({ writer, stream_id, turn_id: null, session_id, stopping });
  try {
    if (await outlet.stop()) observer.messageEnded(message.platform, 'stopped');
  } finally {
    await streams.release(claim);
  }
}

/** How often a run checks for a request to stop if hints of the store can be lost, ms. */
const LOOK_MS = 1000;

type Parts = Pick<Services, 'store' | 'clock' | 'log'>;

/** Notices a request to stop a run, through a hint of the store or by reading the store regularly. */
export class StopRequest {
  readonly #parts: Parts;
  readonly #stream_id: string;
  /** Ended when somebody requests to stop the run. */
  readonly requested = new Cancellation();
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

  /** Stops checking for requests. */
  close(): void {
    for (const end of this.#endings) end();
  }

  async #look(): Promise<void> {
    const { store, log } = this.#parts;
    try {
      const stream = await store.streams.find(this.#stream_id);
      if (stream?.stop_requested) this.requested.end(() => new Error('the person stopped the answer'));
    } catch (error) {
      log.warn({ err: error }, 'could not read a request to stop a stream; will try again');
    }
  }
}
