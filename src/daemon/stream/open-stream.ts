import type {
  ChannelPlugin,
  ChannelRequest,
  ChannelStreams,
  OpenStream,
  StreamEvent,
} from '../../channel/index.ts';
import { otherBody, refuseOthersAnswer, stillRunning } from '../message/keys.ts';
import type { StreamClaim } from '../store/claims/claims.ts';
import type { KeyState, StoredAnswer } from '../store/idempotency.ts';
import type { StreamRecord } from '../store/streams.ts';
import type { Ticket } from '../time/tickets.ts';
import {
  type AdmittedReader,
  admitAgain,
  admitReader,
  findStream,
  refuseForeignPage,
} from './admit-reader.ts';
import { EventWriter } from './event-writer.ts';
import { completed, completionMetadata, numbered, started } from './events.ts';
import { enterReader } from './readers.ts';
import { runStream } from './run-stream.ts';
import { StopRequest } from './stop-stream.ts';
import type { StreamServices } from './stream-services.ts';

type OpenOptions = Parameters<ChannelStreams['open']>[2];

/**
 * Opens a stream and continues after the event `after`. The first request that opens it begins its run; a HEAD request
 * does not begin it. Null if the stream has ended and its client has all events.
 * @throws `stream_not_found`, `token_missing`, `forbidden`, `too_many_readers`; `duplicate_in_progress` while the same
 * message is being answered elsewhere; `idempotency_key_reused` if its key was used with a different body.
 */
export async function openStream(
  plugin: ChannelPlugin,
  services: StreamServices,
  stream_id: string,
  request: ChannelRequest,
  { tokens, after, max_readers_per_client }: OpenOptions,
): Promise<OpenStream | null> {
  const stream = await findStream(services, stream_id);
  refuseForeignPage(request, tokens, services.settings);
  const begins = stream.state === 'waiting' && request.method !== 'HEAD';
  // The ticket is taken before the token is checked, because the duration of the check varies.
  const ticket = begins ? services.sequencer.take(stream.start.session_id) : null;
  let begun: Begun | null = null;
  let opened: OpenStream | null = null;
  let leave: (() => void) | null = null;
  try {
    const admitted = await admitReader(services, stream, request, { tokens, after });
    const signedIn = admitted.validated?.verdict.valid === true;
    leave = enterReader(services.readers, request, {
      stream_id,
      signedIn,
      maxPerClient: max_readers_per_client,
    });
    if (ticket) begun = await begin(plugin, services, admitted, request, ticket);
    if (begun === 'by-another') await admitAgain(services, stream_id, request, { tokens, after });
    if (stream.state === 'ended' && after >= stream.last_event) return null;
    opened = { follow: (reader) => services.broadcaster.follow(stream_id, after, reader).finally(leave) };
    return opened;
  } finally {
    if (begun !== 'run') ticket?.leave();
    if (opened === null) leave?.();
  }
}

/**
 * What a request that opened a stream has begun. `run`: a run, which releases the ticket. `replay`: the replay of an
 * earlier answer. `by-another`: nothing, because another request was faster.
 */
type Begun = 'run' | 'replay' | 'by-another';

/**
 * Begins the run of a stream. If several requests open the stream at the same time, only one begins the run; the others
 * read the stream if they are still allowed to. If the message was already answered under the same idempotency key,
 * perhaps on another channel with the same namespace, that answer is replayed.
 */
async function begin(
  plugin: ChannelPlugin,
  services: StreamServices,
  admitted: AdmittedReader,
  request: ChannelRequest,
  ticket: Ticket,
): Promise<Begun> {
  const { stream, claimant } = admitted;
  const { streams } = services.store;
  const { stream_id } = stream;
  const known = await answeredElsewhere(services, stream);
  if (known.outcome === 'running' || known.outcome === 'other_body') {
    // If another request was faster, the running answer may be the run of this stream.
    if ((await streams.find(stream_id))?.state !== 'waiting') return 'by-another';
    throw known.outcome === 'running' ? stillRunning() : otherBody();
  }
  if (known.outcome === 'done') refuseOthersAnswer(known.answer, claimant.owner);
  const first = firstEvents(stream);
  const stop = new StopRequest(services, stream_id);
  const claim = await streams.claim(stream_id, claimant, first).catch((error: unknown) => {
    stop.close();
    throw error;
  });
  if (claim === null || known.outcome === 'done') stop.close();
  if (claim === null) return 'by-another';
  const isReplay = known.outcome === 'done';
  const work = isReplay
    ? replay(plugin, services, claim, known.answer)
    : runStream(plugin, services, {
        admitted,
        claim,
        begun: first.length,
        stop,
        opened_by: request.id,
        ticket,
      });
  services.running.add(work);
  services.streaming.add(work);
  // `work` never rejects.
  work.then(() => {
    services.running.delete(work);
    services.streaming.delete(work);
  });
  return isReplay ? 'replay' : 'run';
}

/**
 * The events that can be sent at once. If the session was created for this message, its id is certain, because nobody
 * else knows it. The id of any other session may change until the run has locked the session. A message with a key may
 * have been answered before, in a different session.
 */
function firstEvents({ stream_id, idempotency_key, start }: StreamRecord): StreamEvent[] {
  if (!start.session_is_generated || idempotency_key !== null) return [];
  return [numbered(started({ stream_id, session_id: start.session_id }), 1)];
}

async function answeredElsewhere(
  services: StreamServices,
  { idempotency_key, fingerprint }: AdmittedReader['stream'],
): Promise<KeyState | { outcome: 'new' }> {
  if (idempotency_key === null) return { outcome: 'new' };
  return services.store.idempotency.look(idempotency_key, fingerprint);
}

/** Writes an earlier answer to the stream. Never rejects. */
async function replay(
  { name }: ChannelPlugin,
  { store: { streams }, clock, log, observer }: StreamServices,
  claim: StreamClaim,
  { turn_id, session_id, response, confirmation = null, receipts }: StoredAnswer,
): Promise<void> {
  const { stream_id } = claim;
  observer.messageEnded(name, 'replayed');
  try {
    const answer = completed(
      { stream_id, session_id, response, ...completionMetadata(turn_id ?? null) },
      { confirmation, receipts: receipts ?? null },
      response,
    );
    const events = [started({ stream_id, session_id }), ...answer];
    try {
      await new EventWriter({ streams, claim, clock, log }).end(events);
    } finally {
      await streams.release(claim);
    }
  } catch (error) {
    log.warn({ err: error }, 'an earlier answer could not be replayed on its stream');
  }
}
