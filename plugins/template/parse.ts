import {
  type EditedMessage,
  type IncomingMessage,
  type JsonObject,
  readPressPayload,
  TEXT_MAX,
} from 'agentd/channel';
import { ID } from './settings.ts';

const NAME_MAX = 256;

/** A delivery of the platform. */
export type Delivery =
  | { kind: 'message'; message: IncomingMessage }
  | { kind: 'edit'; edited: EditedMessage }
  /** A press of a question's button. */
  | { kind: 'press'; message: IncomingMessage }
  /** Content that the channel cannot use, which is only acknowledged. */
  | { kind: 'other' };

/**
 * Reads a delivery: `{type, id, sent_at, from: {id, name}, room, shared, thread, text}`. The `text` of a `press` is the
 * payload of the button.
 * @returns null if the platform would not send this delivery
 */
export function parse(body: Readonly<Record<string, unknown>>): Delivery | null {
  const { type, id, sent_at, from, room, shared, thread, text } = body;
  if (typeof type !== 'string') return null;
  if (type !== 'message' && type !== 'edit' && type !== 'press') return { kind: 'other' };
  const { id: user_id, name } = isObject(from) ? from : {};
  if (!isId(id) || !isId(user_id) || !isId(room) || typeof text !== 'string') return null;
  if (thread !== undefined && !isId(thread)) return null;

  // The payload is untrusted. The sender and the room come from the signed delivery.
  const confirm = type === 'press' ? readPressPayload(text) : null;
  if (type === 'press' && confirm === null) return { kind: 'other' };
  const words = type === 'press' ? '' : shortened(text.trim(), TEXT_MAX).trim();
  if (words === '' && confirm === null) return { kind: 'other' };
  const place: JsonObject = { room, ...(thread === undefined ? {} : { thread }) };
  // The session: one thread is one conversation.
  const thread_id = ['pigeonpost', ...Object.values(place)].join(':');
  if (type === 'edit') return { kind: 'edit', edited: { message_id: id, user_id, thread_id, text: words } };
  return {
    kind: confirm === null ? 'message' : 'press',
    message: {
      ...(confirm === null ? {} : { confirm }),
      platform: 'pigeonpost',
      user_id,
      channel_id: room,
      thread_id,
      // A repeated message is answered only once.
      message_id: id,
      text: words,
      shared: shared === true,
      metadata: typeof name === 'string' && name !== '' ? { user_name: shortened(name, NAME_MAX) } : {},
      ...(typeof sent_at === 'number' ? { sent_at } : {}),
      // The daemon stores this object and passes it to `send`: never put a secret into it.
      reply_to: place,
    },
  };
}

function shortened(text: string, max: number): string {
  return [...text.toWellFormed()].slice(0, max).join('');
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
