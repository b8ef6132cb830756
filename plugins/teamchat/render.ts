import type { OutgoingReply } from '../../src/channel/index.ts';
import {
  type Dialect,
  type RenderedReply,
  renderMarkdownInPieces,
  renderReply,
} from '../../src/channel/markdown.ts';

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

/** Maximum length of a section, in characters (https://docs.slack.dev/reference/block-kit/blocks/section-block). */
const SECTION_MAX = 3000;

/** One message of a reply. */
export interface Part {
  text: string;
  blocks?: readonly object[];
}

/**
 * Splits a reply into messages. A question has two buttons. If it is too long for buttons, people answer with words.
 */
export async function partsOf(reply: Pick<OutgoingReply, 'text' | 'confirmation'>): Promise<Part[]> {
  const { texts, question } = await renderReply(reply, MRKDWN, SECTION_MAX, withoutEmoji);
  const parts: Part[] = texts.map((text) => ({ text }));
  return question === null ? parts : [...parts, { text: question.text, blocks: blocksOf(question) }];
}

/** Inserts an invisible character into `:name:`, because a value must not become an emoji. */
function withoutEmoji(text: string): string {
  return text.replace(/:(?=[\w+'-]+:)/g, ':\u2060');
}

function blocksOf({ text, buttons }: NonNullable<RenderedReply['question']>): object[] {
  const elements = buttons.map(({ label, press, approve }) => ({
    type: 'button',
    action_id: approve ? 'agentd_confirm' : 'agentd_decline',
    text: { type: 'plain_text', text: label, emoji: false },
    value: press,
    ...(approve ? { style: 'primary' } : {}),
  }));
  return [
    // With `verbatim`, names and addresses in the text do not become links.
    { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } },
    { type: 'actions', elements },
  ];
}
