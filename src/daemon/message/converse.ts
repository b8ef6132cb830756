import type {
  ChannelPlugin,
  ChannelRequest,
  ConversationEvent,
  IncomingMessage,
} from '../../channel/index.ts';
import { timeOrderedId } from '../clock.ts';
import { placeOf } from '../http/arrivals.ts';
import { validatedOf } from '../http/validate-once.ts';
import type { Services } from '../services.ts';
import { generateSessionId } from '../session/ids.ts';
import { answer } from './answer.ts';
import { EventQueue } from './event-queue.ts';
import { maskMessage } from './mask-message.ts';
import { requireMessage } from './require-message.ts';

/**
 * The door of channels that answer in the request: takes the message all the way and tells what happens.
 * The run does not depend on its reader: a client that goes away leaves a whole turn in its session.
 * The iterable throws the problem that ended the turn.
 * @throws `invalid_request` at once where the message is not as the contract says.
 */
export function converse(
  plugin: ChannelPlugin,
  services: Services,
  message: IncomingMessage,
  request: ChannelRequest,
): AsyncIterable<ConversationEvent> {
  requireMessage(plugin, message);
  const events = new EventQueue<ConversationEvent>();
  const place = placeOf(request);
  const session_id = message.thread_id ?? generateSessionId(plugin.name, message.user_id);
  const run = answer(plugin, services, {
    turn_id: timeOrderedId(services.clock.now()),
    request_id: request.id,
    message: maskMessage(message),
    session_id,
    session_is_generated: message.thread_id === null,
    address: request.address,
    validated: validatedOf(request),
    ...(place ? { place } : {}),
    inbox: null,
    stream: null,
    emit: (event) => events.push(event),
  });
  services.running.add(run);
  run
    .then(
      () => events.end(),
      (error: unknown) => events.fail(error),
    )
    .finally(() => services.running.delete(run));
  return events;
}
