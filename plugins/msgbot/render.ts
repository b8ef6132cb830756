import type { OutgoingReply, ReplyConfirmation } from '../../src/channel/index.ts';
import { type Dialect, renderReply } from '../../src/channel/markdown.ts';

/**
 * Telegram's HTML (https://core.telegram.org/bots/api#html-style). A message has at most 4,096 UTF-16 units, not
 * counting tags. Entities beyond the first 100 are ignored. A message is refused if its entities take too much space in
 * total ("ENTITIES_TOO_LONG", about 9,000 characters: https://github.com/tdlib/telegram-bot-api/issues/165).
 */
const HTML: Dialect = {
  limit: 4096,
  marksCount: false,
  markLimit: 100,
  markupLimit: 7000,
  escapes: { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' },
  lookalikes: {},
  strong: { open: '<b>', close: '</b>' },
  emphasis: { open: '<i>', close: '</i>' },
  delete: { open: '<s>', close: '</s>' },
  code: { open: '<code>', close: '</code>' },
  codeBlock: (language) =>
    language === null
      ? { open: '<pre>', close: '</pre>' }
      : { open: `<pre><code class="language-${language}">`, close: '</code></pre>' },
  quote: { open: '<blockquote>', close: '</blockquote>' },
  // Telegram itself turns plain mail addresses into links. A `tg:` link would notify a person.
  link: (url) =>
    /^https?:/i.test(url) ? { open: `<a href="${url.replaceAll('&', '&amp;')}">`, close: '</a>' } : null,
  bullets: ['•', '◦', '▪'],
  tables: 'aligned',
};

/** One message of a reply. */
export interface Part {
  text: string;
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
}

/**
 * Splits a reply into messages. A question has two buttons. If it does not fit into one message, it has no buttons, and
 * people answer with words.
 */
export async function renderParts(reply: Pick<OutgoingReply, 'text' | 'confirmation'>): Promise<Part[]> {
  const { texts, question } = await renderReply(reply, HTML);
  const parts: Part[] = texts.map((text) => ({ text }));
  if (question === null) return parts;
  const buttons = question.buttons.map(({ label, press }) => ({ text: label, callback_data: press }));
  return [...parts, { text: question.text, reply_markup: { inline_keyboard: [buttons] } }];
}

/** How a question looks that was answered. `text` is null if there is no room for the outcome. */
interface ClosedPart {
  text: string | null;
}

/** The message of a question that was answered. Null if it had no buttons. */
export async function closedPart(
  confirmation: ReplyConfirmation,
  outcome: string,
): Promise<ClosedPart | null> {
  const { question } = await renderReply({ text: '', confirmation }, HTML);
  if (question === null) return null;
  const line = outcome.replace(/[&<>]/g, (sign) => HTML.escapes[sign] ?? sign);
  const hasRoom = plainText(question.text).length + 2 + outcome.length <= HTML.limit;
  return { text: hasRoom ? `${question.text}\n\n${line}` : null };
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** Converts the platform's HTML to plain text, in case the platform cannot read the markup. */
export function plainText(html: string): string {
  return html
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|amp|quot);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
