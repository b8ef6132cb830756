import type { OutgoingReply, ReplyConfirmation } from '../../src/channel/index.ts';
import { type Dialect, renderReply } from '../../src/channel/markdown.ts';
import { buildCard, buildCardEnd, type CardEnd, type Closing, SECTION_MAX, withoutEmoji } from './card.ts';
import { escapeText, LOOKALIKES } from './read-text.ts';

/**
 * Slack's mrkdwn. It can escape only `&`, `<` and `>`, and recognizes marks only between words. Slack splits texts of
 * more than 4,000 characters at any position (https://docs.slack.dev/reference/methods/chat.postMessage, "Truncating
 * content").
 */
const MRKDWN: Dialect = {
  limit: 4000,
  marksCount: true,
  escapes: { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  lookalikes: LOOKALIKES,
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

/** One message of a reply. */
export interface Part {
  text: string;
  blocks?: readonly object[];
}

/**
 * Splits a reply into messages. A question is a card with two buttons. If it is too long for a card, it is a text above
 * the buttons; if it is too long for that, people answer with words.
 */
export async function renderParts(reply: Pick<OutgoingReply, 'text' | 'confirmation'>): Promise<Part[]> {
  const { confirmation } = reply;
  const { texts, question } = await rendered(reply);
  const parts: Part[] = texts.map((text) => ({ text }));
  if (!confirmation || question === null) return parts;
  return [
    ...parts,
    { text: question, blocks: buildBlocks(confirmation, question, { buttons: confirmation }) },
  ];
}

/** The message of a question that was answered, without its buttons. Null if it had none. */
export async function closedPart(confirmation: ReplyConfirmation, closing: Closing): Promise<Part | null> {
  const { question } = await rendered({ text: '', confirmation });
  if (question === null) return null;
  const text = `${question}\n\n${withoutEmoji(escapeText(closing.outcome))}`;
  return { text, blocks: buildBlocks(confirmation, question, closing) };
}

async function rendered(
  reply: Pick<OutgoingReply, 'text' | 'confirmation'>,
): Promise<{ texts: readonly string[]; question: string | null }> {
  const { texts, question } = await renderReply(reply, MRKDWN, SECTION_MAX, withoutEmoji);
  return { texts, question: question?.text ?? null };
}

function buildBlocks(confirmation: ReplyConfirmation, text: string, end: CardEnd): readonly object[] {
  // With `verbatim`, names and addresses in the text do not become links.
  const section = { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
  return buildCard(confirmation, end) ?? [section, buildCardEnd(end)];
}
