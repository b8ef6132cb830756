import { checkMessage, checkMessageId, checkReplyTo, checkText } from '../check-message.ts';
import type {
  ChannelPlugin,
  EditedMessage,
  FieldError,
  IncomingMessage,
  JsonObject,
  NotifyOptions,
} from '../index.ts';
import { leaks } from './secrets.ts';

/** One sentence for each fault of a message: what the daemon would refuse, or what the contract forbids. */
export function faultsOfMessage(
  plugin: ChannelPlugin,
  message: IncomingMessage,
  secrets: readonly string[],
): string[] {
  const isPush = plugin.delivery === 'push';
  const faults = checkMessage(message, plugin, 'message').map(inWords);
  if (leaks(JSON.stringify(message), secrets))
    faults.push('the message must not contain a secret of the settings');
  if (!isPush) return faults;
  if (message.message_id === undefined) faults.push('message_id must be set');
  if (message.reply_to === undefined) faults.push('reply_to must be set');
  if ('jwt_token' in message.metadata)
    faults.push('metadata.jwt_token must not be set: messages are stored without tokens');
  return faults;
}

/** One sentence for each argument of `notify` that the daemon would refuse. */
export function faultsOfNotice(
  reply_to: JsonObject,
  text: string,
  { message_id, user_id }: NotifyOptions = {},
): string[] {
  const faults: string[] = [];
  const wrong = (field: string) => (problem: string) =>
    void faults.push(`${field} of scope.notify ${problem}`);
  checkReplyTo(reply_to, wrong('reply_to'));
  checkText(text, wrong('text'));
  if (message_id === undefined) return faults;
  checkMessageId(message_id, wrong('message_id'));
  if (user_id === undefined) wrong('user_id')('must be set with message_id: an erasure finds the text by it');
  return faults;
}

/** One sentence for each member of an edit that the daemon would refuse. */
export function faultsOfEdit({ message_id, text }: EditedMessage): string[] {
  const faults: string[] = [];
  const wrong = (field: string) => (problem: string) => void faults.push(`${field} of scope.edit ${problem}`);
  checkMessageId(message_id, wrong('message_id'));
  checkText(text, wrong('text'));
  return faults;
}

function inWords({ field, message }: FieldError): string {
  return `${field} ${message}`;
}
