import { type Dialect, renderMarkdownInPieces } from '../../src/channel/markdown.ts';

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

/** Renders a reply as texts for `sendMessage` with `parse_mode` `HTML`. */
export function render(markdown: string): Promise<readonly string[]> {
  return renderMarkdownInPieces(markdown, HTML);
}
