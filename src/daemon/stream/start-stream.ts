import type { ChannelPlugin, IncomingMessage } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import { createArrival, type Origin, withoutLinkCodes } from '../message/arrival.ts';
import type { StartedStream, Starting } from '../message/create-stream.ts';
import { storeTrace } from '../message/run-turn.ts';
import { Ended } from '../message/sequence.ts';
import type { Services } from '../message/services.ts';
import { openStream as steps } from '../message/steps.ts';
import { beginSpan, buildTrace, endTrace } from '../message/turn-trace.ts';
import { reportFailure, withTurn } from '../message/with-turn.ts';
import { shortId } from '../session/session.ts';

/**
 * Stores a message until its stream is opened. For a refused message, a trace is stored under the id of its request.
 * @param ttl_ms how long the message waits, and how long its answer is kept after the end.
 * @param ambient the cookies of the request (`StreamTokens.ambient`).
 * @throws `invalid_request` if the message does not follow the contract; also the errors of the steps.
 */
export async function startStream(
  plugin: ChannelPlugin,
  services: Services,
  message: IncomingMessage,
  origin: Origin,
  { ttl_ms, ambient = [] }: { ttl_ms: number; ambient?: readonly string[] },
): Promise<{ stream_id: string }> {
  const arrival = {
    ...(await withoutLinkCodes(createArrival(plugin, message, origin, services), services)),
    ttl_ms,
    cookie_person: await identifyCookiePerson(message, origin, ambient, services),
  };
  const { stream_id, session_id } = await withTurn<Starting, StartedStream>(
    arrival,
    services,
    (turn) => takeSteps(turn, services),
    // The message has one span. It ends with the run of the message or, if the message is refused, here.
    { collects: false },
  );
  services.log.info(
    {
      request_id: origin.request_id,
      channel: plugin.name,
      stream: shortId(stream_id),
      session: shortId(session_id),
    },
    'message kept until its stream is opened',
  );
  return { stream_id };
}

async function takeSteps(turn: Starting, services: Services): Promise<StartedStream> {
  try {
    const found = await steps.run(turn, services);
    return found instanceof Ended ? found.result : found.stream;
  } catch (error) {
    const trace = buildTrace(turn, reportFailure(turn, error, services), services.clock.now());
    endTrace({ span: beginSpan(turn, services, trace.lines) }, trace, false, services);
    await storeTrace(turn, trace, services).catch((storeError: unknown) =>
      services.log.warn(
        { request_id: turn.request_id, err: storeError },
        'the trace of a failed message could not be stored',
      ),
    );
    throw error;
  }
}

/**
 * The person of the cookie that came with the message; null if there is no valid cookie, or if there are several. Also
 * null if a valid token came with the message, or if the message says that the person is signed out, because these take
 * precedence.
 */
async function identifyCookiePerson(
  message: IncomingMessage,
  { request_id, validated }: Origin,
  ambient: readonly string[],
  { tokens }: Pick<Services, 'tokens'>,
): Promise<PersonKey | null> {
  const [cookie] = ambient;
  const isDecided = message.metadata.jwt_token === null || validated?.verdict.valid === true;
  if (isDecided || ambient.length !== 1 || !cookie) return null;
  const verdict = await tokens.validate(cookie, request_id);
  return verdict.valid ? verdict.person : null;
}
