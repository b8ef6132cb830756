import { type Dialect, renderMarkdownInPieces } from '../../src/channel/markdown.ts';

/**
 * Slack's mrkdwn. It has no escape but for `&`, `<` and `>`, and marks are understood between words only.
 * Beyond 4,000 characters Slack breaks a message apart where it likes
 * (https://docs.slack.dev/reference/methods/chat.postMessage, "Truncating content").
 */
const MRKDWN: Dialect = {
  limit: 4000,
  marksCount: true,
  escapes: { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  lookalikes: { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  // Escaped or not, it would begin a quotation.
  lineStart: /^>/,
  strong: { open: '*', close: '*', tight: true, inLine: true },
  emphasis: { open: '_', close: '_', tight: true, inLine: true },
  delete: { open: '~', close: '~', tight: true, inLine: true },
  code: { open: '`', close: '`', tight: true, inLine: true },
  codeBlock: () => ({ open: '```\n', close: '\n```' }),
  quote: { prefix: '> ' },
  link: (url) => ({ open: `<${url.replaceAll('&', '&amp;')}|`, close: '>', inLine: true, plain: true }),
  bullets: ['•', '◦', '▪'],
  tables: 'aligned',
};

/** A reply as messages for `chat.postMessage`, with `mrkdwn` and without `parse` or `link_names`. */
export function render(markdown: string): Promise<readonly string[]> {
  return renderMarkdownInPieces(markdown, MRKDWN);
}
