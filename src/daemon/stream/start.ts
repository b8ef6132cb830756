import type { ChannelPlugin, ChannelRequest, IncomingMessage } from '../../channel/index.ts';
import { timeOrderedId } from '../clock.ts';
import { placeOf } from '../http/arrivals.ts';
import { validatedOf } from '../http/validate-once.ts';
import type { PersonKey } from '../identity/identity.ts';
import { takeSteps } from '../message/answer.ts';
import { checkSender } from '../message/check-sender.ts';
import { guard } from '../message/guard.ts';
import { identify } from '../message/identify.ts';
import { maskMessage } from '../message/mask-message.ts';
import { requireMessage } from '../message/require-message.ts';
import { Sequence } from '../message/sequence.ts';
import type { Services } from '../services.ts';
import { generateSessionId, shortId } from '../session/ids.ts';
import { keepMessage, type StartedStream, type Starting } from './keep-message.ts';
import { recogniseStream } from './recognise-stream.ts';

/** The way of a message until it is kept; the rest of it is taken when its stream is opened (steps.ts). */
const startSteps = Sequence.start<Starting>()
  .step(identify) //         who sent it, as far as its token says
  .step(recogniseStream) //  sent before? the same stream again
  .step(checkSender) //      a stranger is refused before anything counts
  .step(guard) //            the loop guard lets it through or blocks it
  .step(keepMessage); //     the stream is there, waiting to be opened

/**
 * Keeps a message until its stream is opened.
 * @param ttl_ms how long it waits, and how long its answer is found after the end.
 * @param ambient what the browser sent along (`StreamTokens.ambient`).
 * @throws `invalid_request` where the message is not as the contract says; else as the steps say; what is refused leaves a trace under its request.
 */
export async function startStream(
  plugin: ChannelPlugin,
  services: Services,
  message: IncomingMessage,
  request: ChannelRequest,
  { ttl_ms, ambient = [] }: { ttl_ms: number; ambient?: readonly string[] },
): Promise<{ stream_id: string }> {
  requireMessage(plugin, message);
  const started = Promise.withResolvers<StartedStream>();
  const place = placeOf(request);
  const arrival = {
    turn_id: timeOrderedId(services.clock.now()),
    request_id: request.id,
    message: maskMessage(message),
    session_id: message.thread_id ?? generateSessionId(plugin.name, message.user_id),
    session_is_generated: message.thread_id === null,
    address: request.address,
    validated: validatedOf(request),
    ...(place ? { place } : {}),
    inbox: null,
    stream: null,
    emit: () => undefined,
    ttl_ms,
    cookie_person: await cookiePersonOf(message, request, ambient, services),
    started: started.resolve,
  };
  await takeSteps(plugin, services, arrival, startSteps, async () => undefined);
  const { stream_id, session_id } = await started.promise;
  services.log.info(
    {
      request_id: request.id,
      channel: plugin.name,
      stream: shortId(stream_id),
      session: shortId(session_id),
    },
    'message kept until its stream is opened',
  );
  return { stream_id };
}

/** Whose cookie came with the message. Not asked if a valid token did: the person of that one decides then. */
async function cookiePersonOf(
  message: IncomingMessage,
  request: ChannelRequest,
  ambient: readonly string[],
  { tokens }: Pick<Services, 'tokens'>,
): Promise<PersonKey | null> {
  const [cookie] = ambient;
  const decided = message.metadata.jwt_token === null || validatedOf(request)?.verdict.valid === true;
  if (decided || ambient.length !== 1 || !cookie) return null;
  const verdict = await tokens.validate(cookie, request.id);
  return verdict.valid ? verdict.person : null;
}
