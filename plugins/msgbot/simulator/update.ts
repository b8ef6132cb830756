import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { BOT_NAME, BOT_USERNAME, botId, GROUP, numberOf, roomOf, topicId, userId } from './cast.ts';
import { entitiesOf } from './entities.ts';

/** The update that the platform sends for an event (Bot API, "Update"). */
export function updateOf(event: SimulatedEvent, token: string): object {
  const { kind, number, sent_at } = event;
  const update_id = numberOf(JSON.stringify([kind, roomOf(event), event.thread ?? null, number, event.text]));
  const date = Math.floor(sent_at / 1000);
  if (kind === 'status') return { update_id, my_chat_member: blocked(event, date, token) };
  if (kind === 'press') return { update_id, callback_query: pressOf(event, date, token) };
  const message = {
    message_id: number,
    from: sender(event),
    chat: chatOf(event),
    date,
    ...topicOf(event),
  };
  if (kind === 'other') return { update_id, message: { ...message, photo: photo(number) } };
  const text = spoken(event);
  const entities = entitiesOf(text);
  const words = { text, ...(entities.length > 0 ? { entities } : {}) };
  if (kind === 'edit') return { update_id, edited_message: { ...message, edit_date: date + 1, ...words } };
  return { update_id, message: { ...message, ...words } };
}

/** A press of a button below one of the bot's messages. */
function pressOf(event: SimulatedEvent, date: number, token: string): object {
  return {
    id: String(numberOf(JSON.stringify(['press', event.user, event.number, event.text, event.sent_at]))),
    from: sender(event),
    message: {
      message_id: 1_000_000 + event.number,
      from: { id: botId(token), is_bot: true, first_name: BOT_NAME, username: BOT_USERNAME },
      chat: chatOf(event),
      date,
      ...topicOf(event),
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

function chatOf(event: SimulatedEvent): object {
  if (event.place === 'group') return GROUP;
  const { is_bot: _bot, language_code: _language, ...person } = sender(event) as Record<string, unknown>;
  return { ...person, type: 'private' };
}

function topicOf({ thread }: SimulatedEvent): object {
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
    chat: chatOf(event),
    from: sender(event),
    date,
    old_chat_member: { user: bot, status: 'member' },
    new_chat_member: { user: bot, status: 'kicked', until_date: 0 },
  };
}
