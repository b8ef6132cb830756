import type { ChannelPlugin, ChannelRequest, ChannelStreams, OpenStream } from '../../channel/index.ts';
import type { Place } from '../http/arrivals.ts';
import { otherBody, refuseOthersAnswer, stillRunning } from '../message/recognise-repeat.ts';
import type { Services } from '../services.ts';
import type { Claim, StoredAnswer } from '../store/idempotency.ts';
import { type Admitted, admitAgain, admitReader, findStream } from './admit-reader.ts';
import { started, toldAgain } from './events.ts';
import { enterReader } from './readers.ts';
import { Recorder } from './recorder.ts';
import { refuseForeignPage } from './refuse-foreign-page.ts';
import { runStream } from './run.ts';

type OpenOptions = Parameters<ChannelStreams['open']>[2];

/**
 * Opens a stream after the event `after`; the first one to do so, but for a HEAD request, begins its run.
 * Null where all of it was read before.
 * @throws `stream_not_found`, `token_missing`, `forbidden`, `too_many_readers`; `duplicate_in_progress` while the same
 * message is being answered otherwise.
 */
export async function openStream(
  plugin: ChannelPlugin,
  services: Services,
  stream_id: string,
  request: ChannelRequest,
  { tokens, after, maxReadersPerClient }: OpenOptions,
): Promise<OpenStream | null> {
  const stream = await findStream(services, stream_id);
  refuseForeignPage(request, tokens, services.settings);
  const begins = stream.state === 'waiting' && request.method !== 'HEAD';
  // Taken before the token is looked at, which takes longer for one than for the next.
  const place = begins ? services.arrivals.placeIn(stream.start.session_id) : null;
  let begun: Begun | null = null;
  let opened: OpenStream | null = null;
  let leave: (() => void) | null = null;
  try {
    const admitted = await admitReader(services, stream, request, { tokens, after });
    const signedIn = admitted.validated?.verdict.valid === true;
    leave = enterReader(services.readers, request, {
      stream_id,
      signedIn,
      maxPerClient: maxReadersPerClient,
    });
    if (place) begun = await begin(plugin, services, admitted, request, place);
    if (begun === 'by-another') await admitAgain(services, stream_id, request, { tokens, after });
    if (stream.state === 'ended' && after >= stream.last_event) return null;
    opened = { follow: (reader) => services.feeds.follow(stream_id, after, reader).finally(leave) };
    return opened;
  } finally {
    if (begun !== 'run') place?.leave();
    if (opened === null) leave?.();
  }
}

/** What opening a stream for the first time began: a run, which leaves the place, or the telling of an earlier answer. */
type Begun = 'run' | 'replay' | 'by-another';

/**
 * Of many that open a stream at once, one gets to run it; the others read, if it is still theirs to read. If the message
 * was answered meanwhile on a channel that shares its key, that answer is told.
 */
async function begin(
  plugin: ChannelPlugin,
  services: Services,
  admitted: Admitted,
  request: ChannelRequest,
  place: Place,
): Promise<Begun> {
  const { stream, claimant } = admitted;
  const { streams } = services.store;
  const { stream_id } = stream;
  const known = await answeredElsewhere(services, stream);
  if (known.outcome === 'running' || known.outcome === 'other_body') {
    // It may be this very stream that runs: another reader was faster.
    if ((await streams.find(stream_id))?.state !== 'waiting') return 'by-another';
    throw known.outcome === 'running' ? stillRunning() : otherBody();
  }
  if (known.outcome === 'done') refuseOthersAnswer(known.answer, claimant.owner);
  if (!(await streams.claim(stream_id, claimant))) return 'by-another';
  const recorder = new Recorder(streams, stream_id, services.log);
  const again = known.outcome === 'done';
  const work = again
    ? tellAgain(services, stream_id, known.answer, recorder)
    : runStream(plugin, services, admitted, request.id, recorder, place);
  services.running.add(work);
  work.finally(() => services.running.delete(work));
  return again ? 'replay' : 'run';
}

async function answeredElsewhere(services: Services, stream: Admitted['stream']): Promise<Claim> {
  const { idempotency_key, fingerprint } = stream;
  if (idempotency_key === null) return { outcome: 'new' };
  return services.store.idempotency.look(idempotency_key, fingerprint);
}

/** Never rejects. */
async function tellAgain(
  services: Services,
  stream_id: string,
  { session_id, response }: StoredAnswer,
  recorder: Recorder,
): Promise<void> {
  try {
    await recorder.end([
      started({ stream_id, session_id }),
      ...toldAgain({ stream_id, session_id, response }),
    ]);
  } catch (error) {
    services.log.warn({ err: error }, 'an earlier answer could not be told on its stream');
  } finally {
    await services.store.streams.release(stream_id);
    if (!recorder.ended) services.feeds.giveUp(stream_id);
  }
}
