import { checkMessageId, checkReplyTo, checkText } from '../../channel/check-message.ts';
import type { ChannelPlugin, JsonObject, NotifyOptions } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Services } from '../message/services.ts';
import { noticeTo } from './notice.ts';
import { tooMany } from './screen.ts';
import type { Throttle } from './throttle.ts';
import type { InboxWorker } from './work.ts';

export interface Notifier {
  plugin: ChannelPlugin;
  services: Services;
  worker: InboxWorker;
  throttle: Throttle;
}

/**
 * Sends a text without an agent run. The text is as durable as the reply of a run, and sending it is repeated in the
 * same way. Texts to one chat keep their order. They do not wait for the runs of a session, so that, for example, a
 * confirmation is sent immediately. Rejects like `enqueue`.
 */
export async function notify(
  { plugin, services, worker, throttle }: Notifier,
  reply_to: JsonObject,
  text: string,
  { message_id, user_id, throttle_key }: NotifyOptions = {},
): Promise<void> {
  const refuse = (field: string) => (problem: string) => {
    throw new AgentdError('invalid_request', `A text cannot be sent: ${field} ${problem}.`);
  };
  checkReplyTo(reply_to, refuse('reply_to'));
  checkText(text, refuse('text'));
  if (message_id !== undefined) checkMessageId(message_id, refuse('message_id'));
  const about = { channel: plugin.name, message_id };
  if (throttle_key !== undefined && !throttle.allows(throttle_key, text)) {
    services.log.debug(about, 'hint not sent: its recipient was notified recently');
    return;
  }
  const told = noticeTo(plugin, services, reply_to, text, user_id ?? null);
  const notice = { ...told, message_id: message_id ?? null };
  const [outcome] = (await services.store.inbox.enqueue([notice])) ?? tooMany();
  if (outcome === 'repeated')
    services.log.info(about, 'not sent again: the message that it answers was already received');
  else if (throttle_key !== undefined) throttle.note(throttle_key, text);
  worker.wake();
}
