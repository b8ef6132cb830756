import { type IncomingMessage, readPressPayload } from '../../src/channel/index.ts';
import { objectOrNull } from './object-or-null.ts';
import { messageOf } from './parse.ts';
import { readUpdate } from './read-update.ts';

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
export function readPress(update: Readonly<Record<string, unknown>>): Press | null {
  const { id, from, message, data } = objectOrNull(update.callback_query) ?? {};
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(id)) return null;
  const confirm = readPressPayload(data);
  // The bot sent the message with the button. Here the person who pressed the button replaces the bot as its sender.
  const written = readUpdate({ message: { ...objectOrNull(message), from } });
  if (confirm === null || typeof written === 'string') return { query_id: id, message: null };
  const { sent_at: _asked_at, ...pressed } = messageOf(written, '');
  return { query_id: id, message: { ...pressed, confirm, message_id: `press:${id}` } };
}
