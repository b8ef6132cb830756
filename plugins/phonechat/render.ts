import { type JsonObject, pressPayload, type ReplyConfirmation } from '../../src/channel/index.ts';
import { type Dialect, renderMarkdownInPieces } from '../../src/channel/markdown.ts';

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

/** Renders a reply as bodies of text messages. */
export function render(markdown: string): Promise<readonly string[]> {
  return renderMarkdownInPieces(markdown, WHATSAPP);
}

/**
 * Maximum length of the body of a message with buttons (Cloud API, "Interactive reply buttons messages"). The body of a
 * text message may be longer.
 */
const BODY_MAX = 1024;

/**
 * Splits a reply into messages. A question has two buttons. If it is too long for buttons, people answer with words.
 */
export async function messagesOf(
  text: string,
  confirmation: ReplyConfirmation | undefined,
): Promise<JsonObject[]> {
  const [only, ...more] = confirmation === undefined ? [] : await render(confirmation.question);
  if (confirmation === undefined || only === undefined || more.length > 0 || only.length > BODY_MAX)
    return (await render(text)).map(asText);
  const lead = confirmation.lead === '' ? [] : await render(confirmation.lead);
  return [...lead.map(asText), withButtons(only, confirmation)];
}

function asText(body: string): JsonObject {
  return { type: 'text', text: { preview_url: false, body } };
}

function withButtons(body: string, { id, confirm, decline }: ReplyConfirmation): JsonObject {
  const button = (title: string, approve: boolean) => ({
    type: 'reply',
    reply: { id: pressPayload(id, approve), title },
  });
  return {
    type: 'interactive',
    interactive: {
      type: 'button',
      body: { text: body },
      action: { buttons: [button(confirm, true), button(decline, false)] },
    },
  };
}
