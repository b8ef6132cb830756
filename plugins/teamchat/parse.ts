import {
  type AnswerReaction,
  asFields,
  asObjects,
  type ChannelText,
  type DeletedMessage,
  type EditedMessage,
  type Fields,
  type IncomingMessage,
  isTooLong,
  type JsonObject,
  readPressPayload,
} from '../../src/channel/index.ts';
import { readText, withoutMentions } from './read-text.ts';
import { TEXTS } from './texts.ts';

/** The content of a delivery of the Events API. A delivery contains one event. */
export type Parsed =
  | { kind: 'message'; message: IncomingMessage }
  /** A message of a channel that does not mention the bot. */
  | { kind: 'overheard'; message: IncomingMessage }
  | { kind: 'edit'; edited: EditedMessage }
  | { kind: 'deletion'; deleted: DeletedMessage }
  /** A message to the bot with no text, or with a text that is too long. The sender gets a hint. */
  | {
      kind: 'unreadable';
      message_id: string;
      user_id: string;
      reply_to: JsonObject;
      notice: ChannelText;
    }
  /** A thumb up or down on a message. It counts only if the bot has sent the message. */
  | { kind: 'reaction'; reaction: AnswerReaction }
  | { kind: 'challenge'; challenge: string }
  /** The platform drops events, or no longer delivers any. `words` is for the log. */
  | { kind: 'trouble'; words: string }
  /** Not for the bot, or not as documented; `why` is for the log. */
  | { kind: 'nothing'; why: string };

const NAME_MAX = 200;

/** Subtypes of messages that people write. All others come from the platform or a bot. */
const WRITTEN: readonly unknown[] = [undefined, null, 'file_share', 'thread_broadcast', 'me_message'];

/**
 * Reads a delivery of the Events API (https://docs.slack.dev/apis/events-api). Never throws, whatever the payload, and
 * every message that it returns is valid.
 * @param self the bot's user id, if it is known from another source
 */
export function parse(payload: Fields, self: string | null): Parsed {
  switch (payload.type) {
    case 'url_verification':
      return typeof payload.challenge === 'string'
        ? { kind: 'challenge', challenge: payload.challenge }
        : nothing('url_verification without a challenge');
    case 'app_rate_limited':
      return { kind: 'trouble', words: 'the platform drops events of this app: there are too many of them' };
    case 'event_callback':
      return parseEvent(payload, self);
    default:
      return nothing('a delivery of another type');
  }
}

function parseEvent(payload: Fields, self: string | null): Parsed {
  const event = asFields(payload.event);
  switch (event.type) {
    case 'app_mention':
    case 'message':
      break;
    case 'reaction_added':
      return parseReaction(payload, event);
    case 'tokens_revoked':
    case 'app_uninstalled':
      return { kind: 'trouble', words: `the app was removed from the workspace (${event.type})` };
    default:
      return nothing('an event of another type');
  }
  const us = listBotUsers(payload, self);
  if (event.subtype === 'message_changed') return parseEdit(payload, event, us);
  if (event.subtype === 'message_deleted') return parseDeletion(payload, event);
  if (!WRITTEN.includes(event.subtype)) return nothing('a message that no person wrote');
  if (isOfBot(event, us)) return nothing('a message from a bot');
  const isDirect = isDirectMessage(event);
  const parsed = parseMessage(payload, event, us, isDirect);
  if (event.type !== 'message' || isDirect) return parsed;
  return parsed.kind === 'message'
    ? { ...parsed, kind: 'overheard' }
    : nothing('a message that does not mention the bot');
}

/** Names of the thumbs, without the tone of the skin. */
const THUMBS: ReadonlyMap<string, AnswerReaction['rating']> = new Map([
  ['+1', 1],
  ['thumbsup', 1],
  ['-1', -1],
  ['thumbsdown', -1],
]);

function parseReaction(payload: Fields, event: Fields): Parsed {
  const { type, channel, ts } = asFields(event.item);
  const { user, reaction } = event;
  const rating = THUMBS.get(String(reaction).replace(/::skin-tone-\d$/, ''));
  if (rating === undefined || type !== 'message') return nothing('a reaction that rates no message');
  if (!isId(channel) || !isTimestamp(ts) || !isId(user))
    return nothing('a reaction whose ids are not as documented');
  const user_id = toUserId(payload, event, user);
  return { kind: 'reaction', reaction: { sent_id: `${channel}:${ts}`, user_id, rating } };
}

function parseMessage(payload: Fields, event: Fields, us: ReadonlySet<string>, isDirect: boolean): Parsed {
  const ids = readIds(payload, event, isDirect);
  if (ids === null) return nothing('an event whose ids are not as documented');
  const { channel, thread, ts, message_id, user_id, thread_id } = ids;
  const reply_to: JsonObject = thread === null ? { channel } : { channel, thread_ts: thread };
  const text = wordsFor(event, us);
  const unreadable = (notice: ChannelText): Parsed => ({
    kind: 'unreadable',
    message_id,
    user_id,
    reply_to,
    notice,
  });
  if (text === '') return unreadable(event.text && !hasFiles(event) ? TEXTS.nothing_said : TEXTS.text_only);
  if (isTooLong(text)) return unreadable(TEXTS.too_long);
  const user_name = readName(event);
  const workspace = readWorkspace(user_id, readOwnTeam(payload));
  return {
    kind: 'message',
    message: {
      platform: 'teamchat',
      user_id,
      channel_id: channel,
      thread_id,
      text,
      metadata: user_name === '' ? {} : { user_name },
      message_id,
      sent_at: Math.floor(Number(ts) * 1000),
      shared: !isDirect,
      ...(workspace === null ? {} : { workspace }),
      reply_to,
    },
  };
}

/** The ids of a message, which are the same when it is edited. Null if they are not as documented. */
function readIds(payload: Fields, message: Fields, isDirect: boolean) {
  const { channel, user, ts, thread_ts } = message;
  const root = thread_ts ?? ts;
  if (!isId(channel) || !isId(user) || !isTimestamp(ts) || !isTimestamp(root)) return null;
  // A person's direct messages are one conversation, but each thread in them is a separate conversation.
  const thread = isDirect && root === ts ? null : root;
  return {
    channel,
    thread,
    ts,
    message_id: `${channel}:${ts}`,
    user_id: toUserId(payload, message, user),
    thread_id: `teamchat:${readOwnTeam(payload)}:${channel}${thread === null ? '' : `:${thread}`}`,
  };
}

/** The platform also reports an edit when it unfurls a link, so only a change of the text counts. */
function parseEdit(payload: Fields, event: Fields, us: ReadonlySet<string>): Parsed {
  const message = asFields(event.message);
  const before = asFields(event.previous_message);
  if (!WRITTEN.includes(message.subtype) || isOfBot(message, us))
    return nothing('a change that no person made');
  if (message.text === before.text) return nothing('a change of something other than the text');
  const ids = readIds(payload, { ...event, ...message }, isDirectMessage(event));
  if (ids === null) return nothing('a change whose ids are not as documented');
  const { user: editor = message.user } = asFields(message.edited);
  if (editor !== message.user) return nothing('a change that the author did not make');
  const text = wordsFor({ ...message, type: 'message' }, us);
  if (text === '' || isTooLong(text)) return nothing('a change to a text that is empty or too long');
  const { message_id, user_id, thread_id } = ids;
  return { kind: 'edit', edited: { message_id, user_id, thread_id, text } };
}

function parseDeletion(payload: Fields, event: Fields): Parsed {
  const message = { ...event, ...asFields(event.previous_message), ts: event.deleted_ts };
  const ids = readIds(payload, message, isDirectMessage(event));
  if (ids === null) return nothing('a deletion whose ids are not as documented');
  const { message_id, user_id } = ids;
  return { kind: 'deletion', deleted: { message_id, user_id } };
}

/** The readable text, without the mention of the bot. */
function wordsFor(event: Fields, us: ReadonlySet<string>): string {
  const markup = typeof event.text === 'string' ? event.text.toWellFormed() : '';
  let isFirst = true;
  const isBot = (user: string) => {
    // If the bot's user id is not known, the first user in an app mention is the bot.
    const meant = us.size > 0 ? us.has(user) : isFirst && event.type === 'app_mention';
    isFirst = false;
    return meant;
  };
  return readText(withoutMentions(markup, isBot)).trim();
}

/** The bot's user ids in this workspace, from the delivery and from `self`. */
function listBotUsers({ authorizations }: Fields, self: string | null): Set<string> {
  const users = new Set<string>(self === null ? [] : [self]);
  for (const authorization of asObjects(authorizations)) {
    if (authorization.is_bot === true && isId(authorization.user_id)) users.add(authorization.user_id);
  }
  return users;
}

function isOfBot(message: Fields, us: ReadonlySet<string>): boolean {
  const { bot_id, bot_profile, user } = message;
  const isSet = (value: unknown) => value !== undefined && value !== null;
  return (
    isSet(bot_id) || isSet(bot_profile) || user === 'USLACKBOT' || (typeof user === 'string' && us.has(user))
  );
}

/**
 * Whether this is a direct message. A direct message to several people counts as a group message: the bot must be
 * mentioned in it.
 */
function isDirectMessage({ channel_type, channel }: Fields): boolean {
  if (typeof channel_type === 'string') return channel_type === 'im' || channel_type === 'app_home';
  return typeof channel === 'string' && channel.startsWith('D');
}

/**
 * The workspace of the app. In a channel that is shared with another company, messages of that company may contain its
 * workspace as `team_id`. With that id, one thread would be split into two sessions.
 */
function readOwnTeam({ context_team_id, authorizations, team_id }: Fields): string {
  return [context_team_id, asObjects(authorizations)[0]?.team_id, team_id].find(isId) ?? UNTOLD_TEAM;
}

/**
 * The id of a sender. If the sender belongs to another company in a shared channel, the id includes that company's
 * workspace, because the platform does not promise that ids of different workspaces differ. These senders cannot use a
 * link of our workspace.
 */
function toUserId(payload: Fields, event: Fields, user: string): string {
  if (payload.is_ext_shared_channel !== true) return user;
  const theirs = [event.user_team, event.source_team, event.team].find(isId);
  const ours: unknown[] = [
    readOwnTeam(payload),
    payload.context_enterprise_id,
    ...asObjects(payload.authorizations).flatMap(({ team_id, enterprise_id }) => [team_id, enterprise_id]),
  ];
  const isOurs = theirs !== undefined && ours.includes(theirs);
  return isOurs ? user : `${theirs ?? EXTERNAL}:${user}`;
}

/**
 * The workspace of a sender: that of the app, unless the sender belongs to another company, whose workspace is then in
 * the id of the user. Null if it is not known.
 */
function readWorkspace(user_id: string, own: string): string | null {
  const at = user_id.indexOf(':');
  const workspace = at === -1 ? own : user_id.slice(0, at);
  return workspace === UNTOLD_TEAM || workspace === EXTERNAL ? null : workspace;
}

/** The sender's name. Only some deliveries contain it. */
function readName({ user_profile }: Fields): string {
  const { display_name, real_name, name } = asFields(user_profile);
  const given = [display_name, real_name, name].find((one) => typeof one === 'string' && one.trim() !== '');
  return String(given ?? '')
    .toWellFormed()
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, NAME_MAX)
    .toWellFormed();
}

function hasFiles({ files }: Fields): boolean {
  return asObjects(files).length > 0;
}

function nothing(why: string): Parsed {
  return { kind: 'nothing', why };
}

/** Ids are opaque, but contain only these characters. If a colon were allowed, one id could look like two. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Programs that stand in for the platform may write a whole second without a fraction. */
const TIMESTAMP = /^(?:\d{1,11}\.\d{1,9}|\d{9,11})$/;

/** Stands for the workspace of a sender of another company if the delivery does not name it. */
const EXTERNAL = 'external';

/**
 * Used if a payload does not name the workspace. A bot token is valid for only one workspace, so the payload belongs to
 * that workspace.
 */
const UNTOLD_TEAM = '-';

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

export function isTimestamp(value: unknown): value is string {
  return typeof value === 'string' && TIMESTAMP.test(value);
}

/** A press of a question's button. */
export interface Press {
  message: IncomingMessage;
  /** The id of the person who pressed the button, for calls of the platform's API. */
  user: string;
}

/**
 * Reads a `block_actions` payload (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). Never
 * throws, whatever the payload. The sender and the channel come from the signed delivery, never from the button.
 * @returns the press, or why this is not a press of a question's button
 */
export function readPress(payload: Fields): Press | string {
  if (payload.type !== 'block_actions') return 'an interaction of another type';
  const action = asObjects(payload.actions)[0] ?? {};
  const confirm = readPressPayload(action.value);
  if (confirm === null) return 'a button of something else';
  const channel = asFields(payload.channel).id ?? asFields(payload.container).channel_id;
  const user = asFields(payload.user).id;
  const { action_ts } = action;
  const isDated = action_ts !== undefined;
  if (!isId(channel) || !isId(user) || (isDated && !isTimestamp(action_ts)))
    return 'ids are not as documented';
  const root = [asFields(payload.message).thread_ts, asFields(payload.container).thread_ts].find(isTimestamp);
  const team = [asFields(payload.team).id, asFields(payload.user).team_id].find(isId) ?? UNTOLD_TEAM;
  const user_id = toPresserId(payload, user);
  const user_name = readName({ user_profile: payload.user });
  const workspace = readWorkspace(user_id, team);
  const message: IncomingMessage = {
    platform: 'teamchat',
    user_id,
    channel_id: channel,
    thread_id: `teamchat:${team}:${channel}${root === undefined ? '' : `:${root}`}`,
    text: '',
    confirm,
    metadata: user_name === '' ? {} : { user_name },
    // If the payload contains no time, for example because a gateway made it, a second press of the button counts as
    // the same press.
    message_id: `press:${channel}:${user}:${isDated ? action_ts : String(action.value)}`,
    ...(isDated ? { sent_at: Math.floor(Number(action_ts) * 1000) } : {}),
    shared: !channel.startsWith('D'),
    ...(workspace === null ? {} : { workspace }),
    reply_to: root === undefined ? { channel } : { channel, thread_ts: root },
  };
  return { message, user };
}

/**
 * The id of a sender, as in events. If the sender belongs to another company, the id includes that company's workspace.
 */
function toPresserId(payload: Fields, user: string): string {
  const theirs = asFields(payload.user).team_id;
  const ours = asFields(payload.team).id;
  const isOther = isId(theirs) && isId(ours) && theirs !== ours && !isId(asFields(payload.enterprise).id);
  return isOther ? `${theirs}:${user}` : user;
}
