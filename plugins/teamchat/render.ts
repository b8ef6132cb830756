import { type Dialect, renderMarkdownInPieces } from '../../src/channel/markdown.ts';

/**
 * Slack's mrkdwn. It can escape only `&`, `<` and `>`, and recognizes marks only between words. Slack splits texts of
 * more than 4,000 characters at any position (https://docs.slack.dev/reference/methods/chat.postMessage, "Truncating
 * content").
 */
const MRKDWN: Dialect = {
  limit: 4000,
  marksCount: true,
  escapes: { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  lookalikes: { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  // `>` would begin a quotation, even if it is escaped.
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

/** Renders a reply as messages for `chat.postMessage`, with `mrkdwn` and without `parse` and `link_names`. */
export function render(markdown: string): Promise<readonly string[]> {
  return renderMarkdownInPieces(markdown, MRKDWN);
}
