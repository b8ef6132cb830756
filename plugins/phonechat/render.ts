import type { JsonObject, OutgoingReply } from '../../src/channel/index.ts';
import { type Dialect, renderReply } from '../../src/channel/markdown.ts';

/**
 * WhatsApp's formatting (https://faq.whatsapp.com/539178204879377). It has no escapes and no links, so addresses are
 * written out. The body of a text message has at most 4,096 characters
 * (https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages).
 */
const WHATSAPP: Dialect = {
  limit: 4096,
  marksCount: true,
  escapes: {},
  lookalikes: { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  lineStart: /^>/,
  strong: { open: '*', close: '*', tight: true, inLine: true },
  emphasis: { open: '_', close: '_', tight: true, inLine: true },
  delete: { open: '~', close: '~', tight: true, inLine: true },
  code: { open: '`', close: '`', tight: true, inLine: true },
  codeBlock: () => ({ open: '```\n', close: '\n```' }),
  quote: { prefix: '> ' },
  link: () => null,
  bullets: ['-'],
  tables: 'lines',
};

/**
 * Maximum length of the body of a message with buttons (Cloud API, "Interactive reply buttons messages"). The body of a
 * text message may be longer.
 */
const BODY_MAX = 1024;

/**
 * Splits a reply into messages. A question has two buttons. If it is too long for buttons, people answer with words.
 */
export async function renderMessages(
  reply: Pick<OutgoingReply, 'text' | 'confirmation'>,
): Promise<JsonObject[]> {
  const { texts, question } = await renderReply(reply, WHATSAPP, BODY_MAX);
  const messages = texts.map((body): JsonObject => ({ type: 'text', text: { preview_url: false, body } }));
  if (question === null) return messages;
  const buttons = question.buttons.map(({ label, press }) => ({
    type: 'reply',
    reply: { id: press, title: label },
  }));
  const interactive = { type: 'button', body: { text: question.text }, action: { buttons } };
  return [...messages, { type: 'interactive', interactive }];
}
