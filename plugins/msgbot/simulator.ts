import { hash } from 'node:crypto';
import type { PlatformSimulator, SimulatedEvent } from '../../src/channel/index.ts';
import { readSecret } from '../../src/channel/index.ts';
import { BOT_NAME, BOT_USERNAME, BotApi, botId, buildRefusal, GROUP, hashToNumber } from './simulator-api.ts';
import { readable } from './simulator-html.ts';

/** Id of a bot that does not exist on the platform. */
const BOT_ID = 5550100;

/** Simulates Telegram: its updates and its Bot API. */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'MSGBOT_API_URL',
  devSettings: (secret, api_url) => ({
    MSGBOT_BOT_TOKEN: `${BOT_ID}:${secret('MSGBOT_BOT_TOKEN')}`,
    MSGBOT_WEBHOOK_SECRET: secret('MSGBOT_WEBHOOK_SECRET'),
    MSGBOT_API_URL: api_url,
  }),
  who: () => PEOPLE,
  delivery(event, settings) {
    const secret = readSecret(settings, 'MSGBOT_WEBHOOK_SECRET');
    return {
      method: 'POST',
      path: '/webhook/msgbot',
      headers: {
        'Content-Type': 'application/json',
        'X-Telegram-Bot-Api-Secret-Token': event.bad_signature ? another(secret) : secret,
      },
      body: JSON.stringify(buildUpdate(event, readSecret(settings, 'MSGBOT_BOT_TOKEN'))),
    };
  },
  seenIn: (event) => [String(toChatId(event))],
  refusal: buildRefusal,

  readable,
  startApi: (settings) => new BotApi(readSecret(settings, 'MSGBOT_BOT_TOKEN')),
};

function another(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** The update that the platform sends for an event (Bot API, "Update"). */
function buildUpdate(event: SimulatedEvent, token: string): object {
  const { kind, number, sent_at } = event;
  const update_id = hashToNumber(
    JSON.stringify([kind, toChatId(event), event.thread ?? null, number, event.text]),
  );
  const date = Math.floor(sent_at / 1000);
  if (kind === 'status') return { update_id, my_chat_member: blocked(event, date, token) };
  if (kind === 'press') return { update_id, callback_query: buildPress(event, date, token) };
  const message = {
    message_id: number,
    from: sender(event),
    chat: buildChat(event),
    date,
    ...buildTopic(event),
  };
  if (kind === 'other') return { update_id, message: { ...message, photo: photo(number) } };
  const text = spoken(event);
  const entities = findEntities(text);
  const words = { text, ...(entities.length > 0 ? { entities } : {}) };
  if (kind === 'edit') return { update_id, edited_message: { ...message, edit_date: date + 1, ...words } };
  return { update_id, message: { ...message, ...words } };
}

/** A press of a button below one of the bot's messages. */
function buildPress(event: SimulatedEvent, date: number, token: string): object {
  return {
    id: String(hashToNumber(JSON.stringify(['press', event.user, event.number, event.text, event.sent_at]))),
    from: sender(event),
    message: {
      message_id: 1_000_000 + event.number,
      from: { id: botId(token), is_bot: true, first_name: BOT_NAME, username: BOT_USERNAME },
      chat: buildChat(event),
      date,
      ...buildTopic(event),
      text: 'A question',
    },
    chat_instance: '-3214413',
    data: event.text,
  };
}

/** The text as the person types it: in a group, it mentions the bot. */
function spoken({ kind, place, text }: SimulatedEvent): string {
  if (place === 'direct') return text;
  if (kind === 'command') return text.replace(/^\/[^\s@]+(?!\S)/, `$&@${BOT_USERNAME}`);
  return `@${BOT_USERNAME} ${text}`;
}

function sender({ user, user_name }: SimulatedEvent): object {
  const id = userId(user);
  const [first_name = `User ${id}`, ...rest] = (user_name ?? '').split(' ').filter(Boolean);
  return {
    id,
    is_bot: false,
    first_name,
    ...(rest.length > 0 ? { last_name: rest.join(' ') } : {}),
    username: `user_${id}`,
    language_code: 'en',
  };
}

function buildChat(event: SimulatedEvent): object {
  if (event.place === 'group') return GROUP;
  const { is_bot: _bot, language_code: _language, ...person } = sender(event) as Record<string, unknown>;
  return { ...person, type: 'private' };
}

function buildTopic({ thread }: SimulatedEvent): object {
  return thread === undefined ? {} : { message_thread_id: topicId(thread), is_topic_message: true };
}

/** Sizes of a picture. */
function photo(number: number): object[] {
  return [
    { width: 90, height: 67, file_size: 1253 },
    { width: 800, height: 600, file_size: 61_205 },
  ].map((size) => ({
    file_id: `AgACAgIAAxkBAAI${number}-${size.width}`,
    file_unique_id: `AQAD${number}-${size.width}`,
    ...size,
  }));
}

/** The update that the platform sends when a person blocks the bot. */
function blocked(event: SimulatedEvent, date: number, token: string): object {
  const bot = { id: botId(token), is_bot: true, first_name: BOT_NAME, username: BOT_USERNAME };
  return {
    chat: buildChat(event),
    from: sender(event),
    date,
    old_chat_member: { user: bot, status: 'member' },
    new_chat_member: { user: bot, status: 'kicked', until_date: 0 },
  };
}

interface Entity {
  type: 'bot_command' | 'mention' | 'url' | 'email';
  /** In UTF-16 units. */
  offset: number;
  length: number;
}

/**
 * Patterns that the platform recognizes in a text. If two matches overlap, the pattern that comes first in this list
 * is used.
 */
const KINDS: readonly { type: Entity['type']; pattern: RegExp }[] = [
  { type: 'url', pattern: /https?:\/\/[^\s<>"]+/g },
  { type: 'email', pattern: /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g },
  { type: 'bot_command', pattern: /(?<![\w/])\/[a-zA-Z0-9_]{1,32}(?:@\w{3,32})?(?!\w)/g },
  { type: 'mention', pattern: /(?<!\w)@[a-zA-Z]\w{3,31}(?!\w)/g },
];

/** The entities of a text, in order (Bot API, "MessageEntity"). */
function findEntities(text: string): Entity[] {
  const found: Entity[] = [];
  for (const { type, pattern } of KINDS) {
    for (const match of text.matchAll(pattern)) {
      const entity = { type, offset: match.index, length: match[0].length };
      if (!found.some((other) => overlap(other, entity))) found.push(entity);
    }
  }
  return found.sort((a, b) => a.offset - b.offset);
}

function overlap(a: Entity, b: Entity): boolean {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

/** The people who write to the bot. */
const PEOPLE = ['5550111', '5550112', '5550113'] as const;

/** Ids of the platform are numbers. A name that is not a number gets a number that never changes. */
function userId(user: string): number {
  return /^[1-9]\d{0,14}$/.test(user) ? Number(user) : hashToNumber(`user ${user}`);
}

function topicId(thread: string): number {
  return /^[1-9]\d{0,8}$/.test(thread) ? Number(thread) : hashToNumber(`topic ${thread}`);
}

/** The chat of an event: the group, or the private chat, which has the same id as its person. */
function toChatId({ place, user }: SimulatedEvent): number {
  return place === 'group' ? GROUP.id : userId(user);
}
