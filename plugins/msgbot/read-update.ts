import { asFields, asObjects, type Fields } from '../../src/channel/index.ts';

/** Ids of messages, chats and users are integers of at most 52 bits (Bot API, "Chat"). */
type Id = number;

/** The parts of a message that this channel reads. */
export interface Written {
  chat: Id;
  place: 'private' | 'group';
  /** Topic of a forum, or of a private chat with topics. */
  topic: Id | null;
  id: Id;
  user: Id;
  /** The sender's name. Empty if it has no visible character. */
  name: string;
  /** Language of the sender's app; null if the platform does not report it. */
  language: string | null;
  /** ms since the epoch; null if the update has no time. */
  sent_at: number | null;
  /** When the message was edited, in seconds since the epoch. Null if it was not edited. */
  edited: number | null;
  /** Text or caption, unchanged, because the entities refer to positions in it. Empty if there is none. */
  text: string;
  entities: readonly Entity[];
  /** Author of the message that this message replies to. Null if there is none. */
  answers: Id | null;
  /** Whether the sender forwarded the message from another chat. */
  forwarded: boolean;
  /** The common id of pictures that were sent together. Each picture is a separate message. */
  album: string | null;
  /** Whether it has content other than text: a picture, a voice message, … */
  hasContent: boolean;
}

/** A part of the text that the platform has recognized. `offset` and `length` are UTF-16 units. */
export interface Entity {
  type: 'mention' | 'text_mention';
  offset: number;
  length: number;
  /** User of a `text_mention`. */
  user: Id | null;
}

/**
 * Kinds of content other than text that people send (Bot API, "Message"). A message with no text and none of these is a
 * notice from the platform, not from a person.
 */
const CONTENT = [
  'animation',
  'audio',
  'checklist',
  'contact',
  'dice',
  'document',
  'game',
  'gift',
  'giveaway',
  'live_photo',
  'location',
  'paid_media',
  'photo',
  'poll',
  'rich_message',
  'sticker',
  'story',
  'venue',
  'video',
  'video_note',
  'voice',
] as const;

/** Maximum length of a name, in characters. The platform allows 64 for the first name and 64 for the last name. */
const NAME_MAX = 200;

/**
 * Returns the message in an update, or the reason why there is none for the bot. Never throws, whatever the update
 * contains. If an update does not follow the documentation, the result is a reason, too.
 */
export function readUpdate(update: Fields): Written | string {
  const [message] = asObjects([update.message, update.edited_message]);
  if (message === undefined) return `no message: ${readKind(update)}`;
  const chat = asFields(message.chat);
  const from = asFields(message.from);
  const [chatId, id] = [readId(chat.id), positive(message.message_id)];
  if (chatId === null || id === null) return 'malformed: no chat or message_id';
  const user = readSenderId(chat, message.from);
  const place = readPlace(chat, user);
  if (place === null) return `a chat of type ${word(chat.type)}`;
  // The sender is an anonymous administrator or a channel. Many people share the sender's id, so it identifies no
  // person.
  if (message.sender_chat !== undefined) return 'sent on behalf of a chat';
  if (user === null) return 'no sender';
  if (from.is_bot !== undefined && from.is_bot !== false) return 'sent by a bot';
  const inText = typeof message.text === 'string';
  const text = inText ? String(message.text) : typeof message.caption === 'string' ? message.caption : '';
  return {
    chat: chatId,
    place,
    topic: message.is_topic_message === true ? positive(message.message_thread_id) : null,
    id,
    user,
    name: readName(from),
    language: languageIn(from.language_code),
    sent_at: toSeconds(message.date, 1000),
    edited: message === update.edited_message ? (toSeconds(message.edit_date, 1) ?? 0) : null,
    text,
    entities: readEntities(inText ? message.entities : message.caption_entities, text),
    answers: answeredBy(message),
    forwarded: message.forward_origin !== undefined || message.forward_date !== undefined,
    album: albumIn(message.media_group_id),
    hasContent: CONTENT.some((name) => message[name] !== undefined),
  };
}

/** The sender's id. If a message in a private chat has no sender, the id of the chat is the person's id. */
function readSenderId({ id, type }: Fields, from: unknown): Id | null {
  return from === undefined && type === 'private' ? positive(id) : positive(asFields(from).id);
}

/**
 * The kind of the chat. Null if the agent does not write in it: a channel, or the direct messages of a channel. If the
 * type is missing, a chat with the same id as the sender is private.
 */
function readPlace({ id, type, is_direct_messages }: Fields, user: Id | null): Written['place'] | null {
  if (type === 'private') return 'private';
  if (type === undefined && user !== null && readId(id) === user) return 'private';
  return (type === 'group' || type === 'supergroup') && is_direct_messages !== true ? 'group' : null;
}

/**
 * The author of the message that this message replies to. In a topic, each message that is not a reply refers to the
 * message that opened the topic instead. The author of the opening message, who may be the bot, is not addressed.
 */
function answeredBy(message: Fields): Id | null {
  const { from, forum_topic_created } = asFields(message.reply_to_message);
  return forum_topic_created === undefined ? positive(asFields(from).id) : null;
}

function albumIn(id: unknown): string | null {
  return typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : null;
}

/** A mention as the platform recognizes it. A letter before the `@` would make it an e-mail address. */
const MENTION = /(?<![\w@.+-])@\w{4,32}(?![\w@])/g;

/**
 * Reads the entities of a text. If the update has no list of them, perhaps because a gateway made it, finds the
 * mentions in the text instead.
 */
function readEntities(given: unknown, text: string): Entity[] {
  if (given === undefined)
    return [...text.matchAll(MENTION)].map(({ 0: { length }, index }) => ({
      type: 'mention',
      offset: index,
      length,
      user: null,
    }));
  if (!Array.isArray(given)) return [];
  return given.flatMap((item: unknown): Entity[] => {
    const { type, offset, length, user } = asFields(item);
    if (type !== 'mention' && type !== 'text_mention') return [];
    if (!isCount(offset) || !isCount(length)) return [];
    return [{ type, offset, length, user: positive(asFields(user).id) }];
  });
}

function readName({ first_name, last_name, username }: Fields): string {
  const given = [first_name, last_name].filter((part) => typeof part === 'string').join(' ');
  const name = [given, typeof username === 'string' ? username : ''].map(shown).find((part) => part !== '');
  return name ?? '';
}

function languageIn(code: unknown): string | null {
  return typeof code === 'string' && /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}$/.test(code) ? code : null;
}

function shown(name: string): string {
  return name
    .slice(0, NAME_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

/** The kind of an update, for the log. */
function readKind(update: Fields): string {
  return word(Object.keys(update).find((key) => key !== 'update_id'));
}

/** A word of the platform's documentation. Any other value is logged as `unknown`. */
function word(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,40}$/.test(value) ? value : 'unknown';
}

function toSeconds(value: unknown, factor: number): number | null {
  return isCount(value) && Number.isSafeInteger(value * factor) ? value * factor : null;
}

function positive(value: unknown): Id | null {
  const id = readId(value);
  return id !== null && id > 0 ? id : null;
}

/** Reads an id. Some gateways write ids as strings, because not every language has numbers of 52 bits. */
export function readId(value: unknown): Id | null {
  const id = typeof value === 'string' && /^-?[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
  return typeof id === 'number' && Number.isSafeInteger(id) && id !== 0 ? id : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
