import { isLonger, isTooLong, TEXT_MAX } from './characters.ts';
import type { ChannelCapabilities, ChannelPlugin, FieldError, IncomingMessage } from './index.ts';
import { isObject } from './json-object.ts';

/** Longest id of a platform, characters. */
export const ID_MAX = 256;
/** Maximum number of spellings of one user id (`linking.idsOf`). */
export const SPELLINGS_MAX = 8;
/** Longest session id, characters. */
const SESSION_ID_MAX = 512;
const MESSAGE_ID_MAX = 512;
const ANSWER_ID_MAX = 256;
/** Maximum number of actions of one question. */
const ACTIONS_MAX = 10;
const LOCALE_MAX = 64;
/** Largest metadata without the token, as JSON, in UTF-16 units. */
const METADATA_MAX = 65_536;
const REPLY_TO_MAX = 8_192;

/** The part of a plugin that the rules depend on. */
export interface CheckedChannel {
  name: string;
  delivery: ChannelPlugin['delivery'];
  capabilities: Pick<ChannelCapabilities, 'groups'>;
}

/**
 * Returns all errors in a message that a channel enqueues; empty if there are none. Nothing is cut or corrected,
 * because the ids of the message become keys.
 * @param channel if its delivery is `push`, session ids must begin with the channel's name and a colon, so that it
 *   cannot use the sessions of another channel; otherwise the client may choose the session id
 * @param at prefix of the field names: `messages[0]`.
 */
export function checkMessage(
  message: IncomingMessage,
  { name: channel, delivery, capabilities }: CheckedChannel,
  at: string,
): FieldError[] {
  const isPush = delivery === 'push';
  const { platform, user_id, alias_id, channel_id, thread_id, message_id, sent_at } = message;
  const errors: FieldError[] = [];
  const wrong = (field: string, problem: string) =>
    errors.push({ field: `${at}.${field}`, message: problem });

  if (platform !== channel) wrong('platform', `must be ${channel}`);
  checkId(user_id, ID_MAX, (problem) => wrong('user_id', problem));
  if (alias_id !== undefined) checkId(alias_id, ID_MAX, (problem) => wrong('alias_id', problem));
  checkId(channel_id, ID_MAX, (problem) => wrong('channel_id', problem));
  if (isPush || thread_id !== null)
    checkThreadId(thread_id, isPush ? channel : null, (problem) => wrong('thread_id', problem));
  if (message.confirm !== undefined)
    checkAnswer(message.confirm, (field, problem) => wrong(`confirm${field}`, problem));
  if (message.confirm === undefined || message.text !== '')
    checkText(message.text, (problem) => wrong('text', problem));
  if (message.locale !== undefined)
    checkId(message.locale, LOCALE_MAX, (problem) => wrong('locale', problem));
  if (message.workspace !== undefined)
    checkId(message.workspace, ID_MAX, (problem) => wrong('workspace', problem));
  if (message_id !== undefined) checkMessageId(message_id, (problem) => wrong('message_id', problem));
  if (sent_at !== undefined && !Number.isFinite(sent_at))
    wrong('sent_at', 'must be a number, ms since the epoch');
  for (const member of ['shared', 'forwarded'] as const)
    if (!['undefined', 'boolean'].includes(typeof message[member])) wrong(member, 'must be true or false');
  if (message.shared === true && capabilities.groups === false)
    wrong('shared', 'must not be true: capabilities.groups is false');
  checkMetadata(message.metadata, (problem) => wrong('metadata', problem));
  checkReplyTo(message.reply_to ?? {}, (problem) => wrong('reply_to', problem));
  return errors;
}

/**
 * Calls `wrong` for each error in the id of a session.
 * @param channel the channel that has chosen the id; null if a client has
 */
export function checkThreadId(
  thread_id: unknown,
  channel: string | null,
  wrong: (problem: string) => void,
): void {
  checkId(thread_id, SESSION_ID_MAX, wrong);
  if (channel !== null && typeof thread_id === 'string' && !thread_id.startsWith(`${channel}:`))
    wrong(`must begin with ${channel}:`);
}

/** Calls `wrong` if the message id is invalid. */
export function checkMessageId(message_id: unknown, wrong: (problem: string) => void): void {
  checkId(message_id, MESSAGE_ID_MAX, wrong);
}

/** Calls `wrong` if the `reply_to` is invalid. */
export function checkReplyTo(reply_to: unknown, wrong: (problem: string) => void): void {
  checkJson(reply_to, REPLY_TO_MAX, wrong);
}

/** Calls `wrong` if the text is invalid. White space at its ends is allowed. */
export function checkText(text: unknown, wrong: (problem: string) => void): void {
  if (typeof text !== 'string') wrong('must be a string');
  else if (!text.isWellFormed()) wrong('must be well-formed Unicode');
  else if (text.trim() === '') wrong('must not be empty');
  else if (isTooLong(text.trim())) wrong(`must have at most ${TEXT_MAX} characters`);
}

/**
 * Calls `wrong` for each error in the answer to a question. `field` is `.id` or `.approve`; it is empty if the answer
 * is not an object.
 */
export function checkAnswer(answer: unknown, wrong: (field: string, problem: string) => void): void {
  if (!isObject(answer)) {
    wrong('', 'must be an object');
    return;
  }
  checkId(answer.id, ANSWER_ID_MAX, (problem) => wrong('.id', problem));
  if (!isApproval(answer.approve))
    wrong('.approve', `must be true, false, or a list of different numbers from 1 to ${ACTIONS_MAX}`);
}

function isApproval(approve: unknown): boolean {
  if (!Array.isArray(approve)) return typeof approve === 'boolean';
  const isNumber = (number: unknown) =>
    Number.isInteger(number) && Number(number) >= 1 && Number(number) <= ACTIONS_MAX;
  return approve.length > 0 && approve.every(isNumber) && new Set(approve).size === approve.length;
}

/** Calls `wrong` if the id is invalid. */
export function checkId(id: unknown, max: number, wrong: (problem: string) => void): void {
  if (typeof id !== 'string') wrong('must be a string');
  else if (id === '') wrong('must not be empty');
  else if (isLonger(id, max)) wrong(`must have at most ${max} characters`);
  else if (/\p{Cc}/u.test(id)) wrong('must not contain control characters');
  // Half of a surrogate pair would be stored as another character, so that two ids could become equal.
  else if (!id.isWellFormed()) wrong('must be well-formed Unicode');
}

/** The token may have any length. If it is too long, the token is invalid, but the message is valid. */
function checkMetadata(metadata: unknown, wrong: (problem: string) => void): void {
  if (!isObject(metadata)) {
    wrong('must be an object');
    return;
  }
  const { jwt_token, ...others } = metadata;
  if (jwt_token !== undefined && jwt_token !== null && typeof jwt_token !== 'string')
    wrong('jwt_token must be a string or null');
  checkJson(others, METADATA_MAX, wrong);
}

function checkJson(value: unknown, max: number, wrong: (problem: string) => void): void {
  const json = isObject(value) ? asJson(value) : undefined;
  if (!isObject(value)) wrong('must be an object');
  else if (json === undefined) wrong('must be JSON');
  else if (json.length > max) wrong(`must have at most ${max} characters as JSON`);
}

/** Returns undefined if the value cannot be written as JSON. */
function asJson(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // The value contains a cycle or a BigInt.
    return undefined;
  }
}
