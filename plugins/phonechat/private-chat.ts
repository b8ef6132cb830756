import type { JsonObject } from '../../src/channel/index.ts';
import type { Configured, Graph } from './api.ts';
import { isBusinessScopedId } from './parse.ts';

/** The `reply_to` of a private chat with a user, from our first business number; null if this is no id of a user. */
export function addressOfUser(user_id: string, { numbers }: Pick<Configured, 'numbers'>): JsonObject | null {
  const [number_id] = numbers;
  if (number_id === undefined) return null;
  if (isBusinessScopedId(user_id)) return { number_id, recipient: user_id };
  return /^\+\d{5,20}$/.test(user_id) ? { number_id, to: user_id.slice(1) } : null;
}

/**
 * Makes the function that returns an address which opens a chat with our first business number, with `link` and the code
 * as its text (WhatsApp Help Center, "How to use click to chat"). The platform is asked for the number until it is known.
 */
export function linkAddress(
  graph: Pick<Graph, 'look'>,
  { numbers }: Pick<Configured, 'numbers'>,
): (code: string) => Promise<string | null> {
  const [number_id] = numbers;
  let digits = '';
  return async (code) => {
    if (digits === '' && number_id !== undefined) {
      const found = await graph.look(number_id);
      if ('number' in found) digits = found.number.replace(/\D/g, '');
    }
    return digits === '' ? null : `https://wa.me/${digits}?text=${encodeURIComponent(`link ${code}`)}`;
  };
}
