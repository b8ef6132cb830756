import type {
  ChannelPlugin,
  ChannelRequest,
  ChannelStreams,
  OpenStream,
  StreamEvent,
} from '../../channel/index.ts';
import { otherBody, refuseOthersAnswer, stillRunning } from '../message/keys.ts';
import type { KeyState } from '../store/idempotency.ts';
import type { StreamRecord } from '../store/streams.ts';
import type { Ticket } from '../time/tickets.ts';
import {
  type AdmittedReader,
  admitAgain,
  admitReader,
  findStream,
  refuseForeignPage,
} from './admit-reader.ts';
import { numberEvent, started } from './events.ts';
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
  let hasBegun = false;
  let opened: OpenStream | null = null;
  let leave: (() => void) | null = null;
  try {
    const admitted = await admitReader(services, stream, request, { tokens, after });
    const signedIn = admitted.validated?.verdict.valid === true;
    leave = services.readers.enter(request, {
      stream_id,
      signedIn,
      maxPerClient: max_readers_per_client,
    });
    if (ticket) {
      hasBegun = await begin(plugin, services, admitted, request, ticket);
      if (!hasBegun) await admitAgain(services, stream_id, request, { tokens, after });
    }
    if (stream.state === 'ended' && after >= stream.last_event) return null;
    opened = { follow: (reader) => services.broadcaster.follow(stream_id, after, reader).finally(leave) };
    return opened;
  } finally {
    if (!hasBegun) ticket?.leave();
    if (opened === null) leave?.();
  }
}

/**
 * Begins the run of a stream. If several requests open the stream at the same time, only one begins the run; the others
 * read the stream if they are still allowed to. If the message was already answered under the same idempotency key,
 * perhaps on another channel with the same namespace, the run gives that answer again.
 * @returns false if another request was faster. Otherwise the run releases the ticket.
 */
async function begin(
  plugin: ChannelPlugin,
  services: StreamServices,
  admitted: AdmittedReader,
  request: ChannelRequest,
  ticket: Ticket,
): Promise<boolean> {
  const { stream, claimant } = admitted;
  const { streams } = services.store;
  const { stream_id } = stream;
  const known = await answeredElsewhere(services, stream);
  if (known.outcome === 'running' || known.outcome === 'other_body') {
    // If another request was faster, the running answer may be the run of this stream.
    if ((await streams.find(stream_id))?.state !== 'waiting') return false;
    throw known.outcome === 'running' ? stillRunning() : otherBody();
  }
  if (known.outcome === 'done') refuseOthersAnswer(known.answer, claimant.owner);
  const first = firstEvents(stream);
  const stop = new StopRequest(services, stream_id);
  const claim = await streams.claim(stream_id, claimant, first).catch((error: unknown) => {
    stop.close();
    throw error;
  });
  if (claim === null) {
    stop.close();
    return false;
  }
  const opened = { admitted, claim, begun: first.length, stop, opened_by: request.id, ticket };
  const work = runStream(plugin, services, opened);
  services.running.add(work);
  services.streaming.add(work);
  // `work` never rejects.
  work.then(() => {
    services.running.delete(work);
    services.streaming.delete(work);
  });
  return true;
}

/**
 * The events that can be sent at once. If the session was created for this message, its id is certain, because nobody
 * else knows it. The id of any other session may change until the run has locked the session. A message with a key may
 * have been answered before, in a different session.
 */
function firstEvents({ stream_id, idempotency_key, start }: StreamRecord): StreamEvent[] {
  if (!start.session_is_generated || idempotency_key !== null) return [];
  return [numberEvent(started({ stream_id, session_id: start.session_id }), 1)];
}

async function answeredElsewhere(
  services: StreamServices,
  { idempotency_key, fingerprint }: AdmittedReader['stream'],
): Promise<KeyState | { outcome: 'new' }> {
  if (idempotency_key === null) return { outcome: 'new' };
  return services.store.idempotency.look(idempotency_key, fingerprint);
}
