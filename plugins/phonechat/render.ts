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
