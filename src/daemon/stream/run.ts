import type { ChannelPlugin, ConversationEvent } from '../../channel/index.ts';
import { timeOrderedId } from '../clock.ts';
import { AgentdError } from '../errors.ts';
import type { Place } from '../http/arrivals.ts';
import { answer } from '../message/answer.ts';
import type { StreamedMessage } from '../message/turn.ts';
import type { Services } from '../services.ts';
import { shortId } from '../session/ids.ts';
import type { Admitted } from './admit-reader.ts';
import { type Completion, completed, INTERRUPTED, type SaidEvent, started, toldAgain } from './events.ts';
import type { Recorder } from './recorder.ts';

/**
 * Answers the message of a stream that this process has claimed, whether anybody reads or not. However it
 * ends, the stream does: in the reply, in `error`, or, where the store cannot be written, by being given up
 * to the reaper. Never rejects.
 * @param opened_by id of the request that opened the stream.
 */
export async function runStream(
  plugin: ChannelPlugin,
  services: Services,
  { stream, token, validated, claimant }: Admitted,
  opened_by: string,
  recorder: Recorder,
  place: Place,
): Promise<void> {
  const { stream_id, start } = stream;
  const stop = new AbortController();
  let speaking = false;
  /** The session's id, once the answer has begun. */
  let session_id: string | null = null;
  let replayed: SaidEvent[] | null = null;
  const complete = (response: string, stopped: boolean) => {
    const data: Completion = { stream_id, session_id: session_id ?? start.session_id, response };
    const first = session_id === null ? [started({ stream_id, session_id: start.session_id })] : [];
    return recorder.end([...first, ...completed(stopped ? { ...data, stopped: true } : data)]);
  };
  const streamed: StreamedMessage = {
    idempotency_key: stream.idempotency_key,
    reader: claimant.reader,
    trace: [
      ...start.trace,
      { at: services.clock.now(), step: 'open-stream', verdict: 'ok', detail: { opened_by } },
    ],
    opened_by,
    stopped: stop.signal,
    begin: () => {
      speaking = true;
    },
    settled: () => recorder.settled(),
    complete,
  };
  const emit = (event: ConversationEvent): void => {
    if (event.type === 'started') {
      session_id = event.session_id;
      recorder.say(started({ stream_id, session_id }));
    } else if (event.type === 'text_chunk') recorder.say({ event: 'text_chunk', data: { text: event.text } });
    else if (event.type === 'tool_call') {
      recorder.say({ event: 'tool_call', data: { tool_name: event.tool_name, status: event.status } });
    } else if (event.type === 'complete' && event.replayed) {
      const { response, session_id } = event;
      replayed = toldAgain({ stream_id, session_id, response });
    }
  };
  const unwatch = services.store.streams.watch(stream_id, (change) => {
    if (change !== 'stop' || stop.signal.aborted) return;
    stop.abort(new Error('the person stopped the answer'));
    // A message that still waits for its turn has nothing to wait for; its turn is taken as an empty one.
    if (!speaking) complete('', true).catch(noteUnsaid);
  });
  const noteUnsaid = (error: unknown) =>
    services.log.warn({ stream: shortId(stream_id), err: error }, 'the end of a stream could not be stored');

  try {
    await answer(plugin, services, {
      turn_id: timeOrderedId(services.clock.now()),
      request_id: start.request_id,
      message: {
        ...start.message,
        metadata:
          token === undefined ? start.message.metadata : { ...start.message.metadata, jwt_token: token },
      },
      session_id: start.session_id,
      session_is_generated: start.session_is_generated,
      address: start.address,
      validated,
      place,
      inbox: null,
      stream: streamed,
      emit,
    });
    if (replayed) await recorder.end(replayed);
  } catch (error) {
    await recorder.end([failure(error, services)]).catch(noteUnsaid);
  } finally {
    place.leave();
    unwatch();
    await services.store.streams.release(stream_id);
    if (!recorder.ended) services.feeds.giveUp(stream_id);
  }
}

/** What the person is told, as in a problem document. */
function failure(error: unknown, services: Services): SaidEvent {
  if (services.stopping.aborted) return INTERRUPTED;
  return error instanceof AgentdError
    ? { event: 'error', data: { code: error.code, message: error.message } }
    : { event: 'error', data: { code: 'internal_error', message: 'Something unexpected happened.' } };
}
