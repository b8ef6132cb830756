import { inspect } from 'node:util';
import { checkMessage, checkMessageId, checkReplyTo, checkText } from '../check-message.ts';
import type {
  ChannelPlugin,
  ChannelSettings,
  EditedMessage,
  FieldError,
  IncomingMessage,
  JsonObject,
  NotifyOptions,
} from '../index.ts';

/** One sentence for each fault of a message: what the daemon would refuse, or what the contract forbids. */
export function faultsOfMessage(
  plugin: ChannelPlugin,
  message: IncomingMessage,
  secrets: readonly string[],
): string[] {
  const isPush = plugin.delivery === 'push';
  const faults = checkMessage(message, plugin, 'message').map(formatFieldError);
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

function formatFieldError({ field, message }: FieldError): string {
  return `${field} ${message}`;
}

/** Minimum length of a secret that is searched for, characters. A shorter one may be part of an unrelated text. */
const LENGTH_MIN = 8;
/** Minimum length of a piece of a secret that is searched for, characters. */
const PIECE_MIN = 16;

/** The secrets among a channel's settings, and their long pieces. */
export function listSecrets({ settings: records }: ChannelPlugin, settings: ChannelSettings): string[] {
  return records.flatMap(({ name, secret }) => {
    const value = secret ? settings[name] : undefined;
    if (value === undefined) return [];
    const text = typeof value === 'object' && 'reveal' in value ? value.reveal() : String(value);
    const pieces = text.split(/[^\w-]+/).filter((piece) => piece.length >= PIECE_MIN);
    return [text.trim(), ...pieces].filter((part) => part.length >= LENGTH_MIN);
  });
}

/** Whether a value shows one of the secrets, at any depth, for example in the cause or the stack of an error. */
export function leaks(something: unknown, secrets: readonly string[]): boolean {
  const text =
    typeof something === 'string'
      ? something
      : inspect(something, { depth: 10, maxStringLength: null, maxArrayLength: null });
  return secrets.some((secret) => text.includes(secret));
}
