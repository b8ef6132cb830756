import type { ChannelPlugin, ChannelRequest, OpenStream, StreamTokens } from '../../channel/index.ts';
import type { House } from '../house.ts';
import { otherBody, stillRunning } from '../message/recognise-repeat.ts';
import type { StoredAnswer } from '../store/store.ts';
import { type Admitted, admitReader } from './admit-reader.ts';
import { completed, numbered } from './events.ts';
import { Recorder } from './recorder.ts';
import { runStream } from './run.ts';

/**
 * Opens a stream after the event `after`; the first one to do so, but for a HEAD request, begins its run.
 * Null where all of it was read before.
 * @throws `stream_not_found`, `token_missing`, `session_forbidden`; `duplicate_in_progress` while the same
 * message is being answered otherwise.
 */
export async function openStream(
  plugin: ChannelPlugin,
  house: House,
  stream_id: string,
  request: ChannelRequest,
  { tokens, after }: { tokens: StreamTokens; after: number },
): Promise<OpenStream | null> {
  const admitted = await admitReader(house, stream_id, request, tokens);
  const { stream } = admitted;
  if (stream.state === 'waiting' && request.method !== 'HEAD') await begin(plugin, house, admitted, request);
  if (stream.state === 'ended' && after >= stream.last_event) return null;
  return { follow: (signal) => house.feeds.follow(stream_id, after, signal) };
}

/** Of many that open a stream at once, one gets to run it; the others read. */
async function begin(
  plugin: ChannelPlugin,
  house: House,
  admitted: Admitted,
  request: ChannelRequest,
): Promise<void> {
  const { stream, validated } = admitted;
  const answer = await answeredOtherwise(house, stream);
  const session_id = answer?.session_id ?? stream.start.session_id;
  const first = numbered(
    { event: 'stream_start', data: { stream_id: stream.stream_id, session_id } },
    stream.last_event + 1,
  );
  const owner = validated?.verdict.valid ? validated.verdict.person : null;
  if (!(await house.store.streams.claim(stream.stream_id, first, owner))) return;
  const recorder = new Recorder(house.store.streams, stream.stream_id, first.id, house.log);
  const work = answer
    ? tellAgain(house, stream.stream_id, answer, recorder)
    : runStream(plugin, house, admitted, request, recorder);
  house.running.add(work);
  work.finally(() => house.running.delete(work));
}

/**
 * The message may have been answered meanwhile on a channel that shares its key: then that answer is told.
 */
async function answeredOtherwise(house: House, stream: Admitted['stream']): Promise<StoredAnswer | null> {
  if (stream.idempotency_key === null) return null;
  const known = await house.store.idempotency.look(stream.idempotency_key, stream.fingerprint);
  if (known.outcome === 'running') throw stillRunning();
  if (known.outcome === 'other_body') throw otherBody();
  return known.outcome === 'done' ? known.answer : null;
}

async function tellAgain(
  house: House,
  stream_id: string,
  { session_id, response }: StoredAnswer,
  recorder: Recorder,
): Promise<void> {
  try {
    await recorder.end([
      { event: 'text_chunk', data: { text: response } },
      ...completed({ stream_id, session_id, response }),
    ]);
  } catch (error) {
    house.log.warn({ err: error }, 'an earlier answer could not be told on its stream');
  } finally {
    await house.store.streams.release(stream_id);
    if (!recorder.ended) house.feeds.giveUp(stream_id);
  }
}
