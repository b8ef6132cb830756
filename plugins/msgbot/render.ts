import { type Dialect, renderMarkdown } from '../../src/channel/markdown.ts';

/**
 * Telegram's HTML (https://core.telegram.org/bots/api#html-style). A message has at most 4,096 UTF-16 units after
 * the tags are read; beyond 100 entities formatting is lost; the Bot API server takes at most 32 kB as sent.
 */
const HTML: Dialect = {
  limit: 4096,
  marksCount: false,
  byteLimit: 30_000,
  markLimit: 100,
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
  // A mail address is found by Telegram itself where it is written out; `tg:` would notify a person.
  link: (url) =>
    /^https?:/i.test(url) ? { open: `<a href="${url.replaceAll('&', '&amp;')}">`, close: '</a>' } : null,
  bullets: ['•', '◦', '▪'],
  tables: 'aligned',
};

/** A reply as texts for `sendMessage` with `parse_mode` `HTML`. */
export function render(markdown: string): readonly string[] {
  return renderMarkdown(markdown, HTML);
}
