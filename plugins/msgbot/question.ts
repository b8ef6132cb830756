import { pressPayload, type ReplyConfirmation } from '../../src/channel/index.ts';
import { render } from './render.ts';

/** One message of a reply. */
export interface Part {
  text: string;
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
}

/**
 * Splits a reply into messages. A question has two buttons. If it does not fit into one message, it has no buttons, and
 * people answer with words.
 */
export async function partsOf(text: string, confirmation: ReplyConfirmation | undefined): Promise<Part[]> {
  const [only, ...more] = confirmation === undefined ? [] : await render(confirmation.question);
  if (confirmation === undefined || only === undefined || more.length > 0) return plain(await render(text));
  const lead = confirmation.lead === '' ? [] : await render(confirmation.lead);
  const { id, confirm, decline } = confirmation;
  const buttons = [
    { text: confirm, callback_data: pressPayload(id, true) },
    { text: decline, callback_data: pressPayload(id, false) },
  ];
  return [...plain(lead), { text: only, reply_markup: { inline_keyboard: [buttons] } }];
}

function plain(texts: readonly string[]): Part[] {
  return texts.map((text) => ({ text }));
}
