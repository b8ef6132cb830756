import {
  type AnswerReaction,
  asFields,
  type EditedMessage,
  type Fields,
  type IncomingMessage,
  isTooLong,
  type JsonObject,
  readPressPayload,
} from '../../src/channel/index.ts';
import { type Entity, readId, readUpdate, type Written } from './read-update.ts';

/** What the channel must do with an update. */
export type Parsed =
  | { kind: 'nothing'; why: string }
  /** Whether the message is for the bot depends on the bot's name, which is not known yet. */
  | { kind: 'unclear' }
  | { kind: 'message'; message: IncomingMessage; album: string | null }
  /** A message of a group that is not for the bot. */
  | { kind: 'overheard'; message: IncomingMessage }
  | { kind: 'edit'; edited: EditedMessage }
  | ParsedCommand
  | NoWords;

export interface NoWords {
  kind: 'no-words';
  about: 'content' | 'empty' | 'too-long';
  place: Place;
  user_id: string;
  album: string | null;
}

export interface ParsedCommand {
  kind: 'command';
  command: Command;
  place: Place;
  user_id: string;
  inPrivate: boolean;
  /** Whether the sender forwarded the message from another chat. */
  forwarded: boolean;
  /** The message itself, if it is `/start` with a parameter; otherwise null. */
  started: IncomingMessage | null;
  /** Id of the message. */
  message: number;
}

/** The destination of an answer, and the id of the answered message. */
export interface Place {
  reply_to: JsonObject;
  /** Identifies the message. An edit that gets its own answer has its own id. */
  message_id: string;
  /** Language of the sender's app; null if the platform does not report it. */
  locale: string | null;
}

/** Commands that the channel answers itself. All others are text for the agent. */
const OWN_COMMANDS = ['start', 'help', 'service_auth'];

/** Reads an update (Bot API, "Update"). Never throws, whatever the payload. */
export function parse(update: Fields, bot: BotName): Parsed {
  const written = readUpdate(update);
  if (typeof written === 'string') return { kind: 'nothing', why: written };
  const { isForBot, text, command } = addressed(written, bot);
  if (command && OWN_COMMANDS.includes(command.name) && isForBot === true)
    return ownCommand(written, command);
  if (written.edited !== null) return parseEdit(written, text);
  if (isForBot === 'unclear') return { kind: 'unclear' };
  if (!isForBot)
    return text === '' || isTooLong(text)
      ? { kind: 'nothing', why: 'not addressed to the bot' }
      : { kind: 'overheard', message: toMessage(written, text) };
  const about = withoutWords(written, text);
  if (about === null)
    return { kind: 'message', message: toMessage(written, text), album: toAlbumId(written) };
  if (about === 'nothing' || (about === 'content' && written.place === 'group'))
    return { kind: 'nothing', why: 'no content for the bot' };
  const [place, user_id] = [toPlace(written), String(written.user)];
  return { kind: 'no-words', about, place, user_id, album: toAlbumId(written) };
}

function ownCommand(written: Written, command: Command): Parsed {
  // `/start` and `/help` are answered only once, even if they are edited. A sign-in is answered again after an edit.
  if (written.edited !== null && command.name !== 'service_auth')
    return { kind: 'nothing', why: 'an edited command' };
  const { id, user, forwarded } = written;
  return {
    kind: 'command',
    command,
    place: toPlace(written),
    user_id: String(user),
    inPrivate: !isShared(written),
    forwarded,
    started: isStartWith(command) ? toMessage(written, `/start ${command.argument}`) : null,
    message: id,
  };
}

function isStartWith({ name, argument }: Command): boolean {
  return name === 'start' && argument !== '' && !isTooLong(argument);
}

/** Reads an edit. The edit does not have to address the bot, because the inbox knows which messages it stores. */
function parseEdit(written: Written, text: string): Parsed {
  if (text === '' || isTooLong(text)) return { kind: 'nothing', why: 'an edit without text' };
  const { user_id, thread_id } = toSender(written);
  return { kind: 'edit', edited: { message_id: messageId(written), user_id, thread_id, text } };
}

function withoutWords(
  { place, hasContent, text: asItCame }: Written,
  text: string,
): null | 'content' | 'empty' | 'too-long' | 'nothing' {
  if (isTooLong(text)) return 'too-long';
  if (text !== '') return null;
  if (hasContent) return 'content';
  // Either the message contains only a mention of the bot, or it is a notice from the platform.
  return place === 'group' && asItCame !== '' ? 'empty' : 'nothing';
}

/** The message as the channel contract defines it. */
function toMessage(written: Written, text: string): IncomingMessage {
  const { chat, name, language, sent_at } = written;
  return {
    platform: 'msgbot',
    ...toSender(written),
    channel_id: String(chat),
    text,
    metadata: name === '' ? {} : { user_name: name },
    message_id: messageId(written),
    shared: isShared(written),
    reply_to: toPlace(written).reply_to,
    ...(written.forwarded ? { forwarded: true } : {}),
    ...(sent_at === null ? {} : { sent_at }),
    ...(language === null ? {} : { locale: language }),
  };
}

/**
 * Whether other people may read the chat. According to the documentation, a private chat has the same id as its person.
 * If the ids differ, it may be another kind of chat.
 */
function isShared({ place, chat, user }: Written): boolean {
  return place === 'group' || chat !== user;
}

function toSender({ chat, topic, user }: Written): Pick<EditedMessage, 'user_id' | 'thread_id'> {
  return { user_id: String(user), thread_id: `msgbot:${chat}${topic === null ? '' : `:${topic}`}` };
}

function toPlace(written: Written): Place {
  const { chat, id, topic, place, edited, language } = written;
  return {
    // In a group, the reply quotes the message that it answers. In a private chat this is not needed.
    reply_to: {
      chat,
      ...(topic === null ? {} : { topic }),
      ...(place === 'group' ? { answers: id } : {}),
    },
    message_id: edited === null ? messageId(written) : `${messageId(written)}:${edited}`,
    locale: language,
  };
}

function messageId({ chat, id }: Written): string {
  return `${chat}:${id}`;
}

function toAlbumId({ chat, album }: Written): string | null {
  return album === null ? null : `${chat}:album:${album}`;
}

/** A press of a button (Bot API, "CallbackQuery"). The platform waits until the query is answered. */
export interface Press {
  query_id: string;
  /** Null if the button does not belong to a question. */
  message: IncomingMessage | null;
}

/**
 * Returns the press in an update, or null if there is none. Never throws, whatever the payload. The sender and the chat
 * come from the platform, never from the data of the button.
 */
export function readPress(update: Fields): Press | null {
  const { id, from, message, data } = asFields(update.callback_query);
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(id)) return null;
  const confirm = readPressPayload(data);
  // The bot sent the message with the button. Here the person who pressed the button replaces the bot as its sender.
  const written = readUpdate({ message: { ...asFields(message), from } });
  if (confirm === null || typeof written === 'string') return { query_id: id, message: null };
  const { sent_at: _asked_at, ...pressed } = toMessage(written, '');
  return { query_id: id, message: { ...pressed, confirm, message_id: `press:${id}` } };
}

/** Emoji of a reaction that rates an answer. */
const THUMBS: ReadonlyMap<unknown, AnswerReaction['rating']> = new Map([
  ['👍', 1],
  ['👎', -1],
]);

/**
 * Returns the rating in an update about reactions (Bot API, "MessageReactionUpdated"), or null if there is none. Never
 * throws, whatever the payload. The platform reports the reactions that a user has now. An anonymous administrator is
 * no user.
 */
export function readReaction(update: Fields): AnswerReaction | null {
  const { chat, user, message_id, new_reaction } = asFields(update.message_reaction);
  const [at, message, by] = [asFields(chat).id, message_id, asFields(user).id].map(readId);
  if (!at || !message || !by || by < 0 || !Array.isArray(new_reaction)) return null;
  const ratings = new_reaction.flatMap((one) => THUMBS.get(asFields(one).emoji) ?? []);
  const [rating] = ratings;
  // Both thumbs together say nothing.
  if (rating === undefined || ratings.length > 1) return null;
  return { sent_id: sentId(at, message), user_id: String(by), rating };
}

export function sentId(chat: number, message: number): string {
  return `${chat}:${message}`;
}

/**
 * The bot's identity. The name is null until the platform sends it. If the token does not contain the id, the id is
 * null until then, too.
 */
export interface BotName {
  id: number | null;
  /** Without the `@`. */
  username: string | null;
}

/** A message, and whether it is for the bot. */
interface Addressed {
  /** `unclear`: this depends on the bot's name, which is not known yet. */
  isForBot: boolean | 'unclear';
  /** The text, without mentions of the bot. */
  text: string;
  command: Command | null;
}

interface Command {
  /** In lower case, without the slash. */
  name: string;
  argument: string;
}

/**
 * A command, as the platform recognizes it. A hyphen is allowed as well, because people know `/service-auth` from other
 * platforms.
 */
const COMMAND = /^\/([a-z0-9_-]{1,32})(?:@([a-z0-9_]{1,64}))?(?=\s|$)/i;

/**
 * Decides whether a message is for the bot. In a private chat, every message is for the bot. In a group, it must
 * mention the bot, reply to it, or begin with a command that does not name another bot.
 */
function addressed(written: Written, bot: BotName): Addressed {
  const calls = written.entities.filter((entity) => isBots(entity, written.text, bot));
  const text = without(calls, written.text);
  const found = COMMAND.exec(text);
  const named = found?.[2] ?? null;
  const command = found && {
    name: (found[1] ?? '').toLowerCase().replaceAll('-', '_'),
    argument: text.slice(found[0].length).trim(),
  };
  const ours = named !== null && bot.username?.toLowerCase() === named.toLowerCase();
  // The agent reads the command without the bot's name.
  const spoken = found && ours ? `/${found[1]}${text.slice(found[0].length)}` : text;
  if (written.place === 'private') return { isForBot: true, text: spoken, command };
  const answersBot = written.answers !== null && written.answers === bot.id;
  const called = calls.length > 0 || answersBot;
  if (named !== null && !ours)
    return { isForBot: bot.username === null ? 'unclear' : false, text: spoken, command: null };
  if (called || found) return { isForBot: true, text: spoken, command };
  const mayAnswerBot = bot.id === null && written.answers !== null;
  const isMention = written.entities.some(({ type }) => type === 'mention');
  const mayBeCalled = bot.username === null && (mayAnswerBot || isMention);
  return { isForBot: mayBeCalled ? 'unclear' : false, text: spoken, command: null };
}

function isBots({ type, offset, length, user }: Entity, text: string, { id, username }: BotName): boolean {
  if (type === 'text_mention') return user !== null && user === id;
  const mention = text.slice(offset, offset + length).toLowerCase();
  return username !== null && mention === `@${username.toLowerCase()}`;
}

/** Removes mentions, and a comma or colon after each of them: `@bot, when …`. */
function without(mentions: readonly Entity[], text: string): string {
  let rest = text;
  for (const { offset, length } of [...mentions].sort((a, b) => b.offset - a.offset)) {
    const before = rest.slice(0, offset);
    const after = rest.slice(offset + length).replace(/^\s*[,:]/, '');
    rest = `${before.trimEnd()} ${after.trimStart()}`;
  }
  return rest.toWellFormed().trim();
}
