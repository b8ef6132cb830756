import type { ClosedQuestion, ConfirmableAction, ReplyConfirmation } from '../../src/channel/index.ts';
import { pressPayload } from '../../src/channel/index.ts';
import { dateMarkup, escapeText, LOOKALIKES } from './read-text.ts';

/* The card of a question, in Block Kit (https://docs.slack.dev/reference/block-kit). */

/** Limits of the platform: characters of a header, of a section and of one of its fields, fields, and blocks. */
const HEADER_MAX = 150;
export const SECTION_MAX = 3000;
const FIELD_MAX = 2000;
const FIELDS_MAX = 10;
const BLOCKS_MAX = 50;

/** What became of a question, on one line. */
export type Closing = Pick<ClosedQuestion, 'outcome' | 'time'>;

/** The end of a card: two buttons, or what became of the question. */
export type CardEnd = { buttons: Pick<ReplyConfirmation, 'id' | 'confirm' | 'decline'> } | Closing;

type Block = Readonly<Record<string, unknown>>;
type Text = Readonly<{ type: 'plain_text' | 'mrkdwn'; text: string }>;

/**
 * A question as a card. All values are plain text, in which nothing is markup. Null if it is too long for a card: nothing
 * is shortened.
 */
export function buildCard(
  { actions = [], heading, as_line, part_line }: ReplyConfirmation,
  end: CardEnd,
): Block[] | null {
  const [only] = actions;
  if (only === undefined) return null;
  const isOpen = 'buttons' in end;
  const blocks = [
    ...(actions.length === 1 ? ofOne(only) : [buildHeader(heading ?? ''), ...actions.flatMap(ofMany)]),
    ...(as_line === undefined ? [] : [buildNote(as_line)]),
    ...(part_line === undefined || !isOpen ? [] : [buildNote(part_line)]),
    buildCardEnd(end),
  ];
  return blocks.length <= BLOCKS_MAX && blocks.every(isWithinLimits) ? blocks : null;
}

/** The buttons, or the outcome. */
export function buildCardEnd(end: CardEnd): Block {
  if ('outcome' in end) return buildClosing(end);
  const { id, confirm, decline } = end.buttons;
  const button = (label: string, approve: boolean) => ({
    type: 'button',
    action_id: approve ? 'agentd_confirm' : 'agentd_decline',
    text: plain(label),
    value: pressPayload(id, approve),
    ...(approve ? { style: 'primary' } : {}),
  });
  return { type: 'actions', elements: [button(confirm, true), button(decline, false)] };
}

function ofOne({ title, details }: ConfirmableAction): Block[] {
  return [buildHeader(title), ...buildFields(details)];
}

function ofMany({ number, title, details }: ConfirmableAction): Block[] {
  return [{ type: 'section', text: plain(`${number}. ${title}`) }, ...buildFields(details)];
}

/** A header has one line of large text. A longer title is a section. */
function buildHeader(title: string): Block {
  const text = plain(title);
  return { type: text.text.length > HEADER_MAX ? 'section' : 'header', text };
}

/** The arguments in two columns: names on the left, values on the right. */
function buildFields(details: ConfirmableAction['details']): Block[] {
  const cells = details.map(({ label, title, value }) => [formatName(title ?? label), plain(value)]);
  const blocks: Block[] = [];
  for (let next = 0; next < cells.length; next += FIELDS_MAX / 2)
    blocks.push({ type: 'section', fields: cells.slice(next, next + FIELDS_MAX / 2).flat() });
  return blocks;
}

/** Words without signs, which no markup can hide in. */
const WORDS = /^[\p{L}\p{N}]+(?:[ ._-][\p{L}\p{N}]+)*$/u;

function formatName(name: string): Text {
  return WORDS.test(name) ? { type: 'mrkdwn', text: `*${name}*` } : plain(name);
}

function buildNote(line: string): Block {
  return { type: 'context', elements: [plain(line)] };
}

/** The outcome, with its time in the time zone of each reader. */
function buildClosing({ outcome, time }: Closing): Block {
  if (time === undefined) return buildNote(outcome);
  const { at, begins_at, words } = time;
  const [before, after] = [outcome.slice(0, begins_at), outcome.slice(begins_at + words.length)].map(literal);
  const text = `${before}${dateMarkup(at, '{time}', words)}${after}`;
  // With `verbatim`, names and addresses in the text do not become links.
  return { type: 'context', elements: [{ type: 'mrkdwn', text, verbatim: true }] };
}

/** A text beside markup, in which nothing is markup. */
function literal(text: string): string {
  return withoutEmoji(escapeText(text)).replace(/[*_~`]/g, (mark) => LOOKALIKES[mark] ?? mark);
}

/** The platform decodes `&amp;`, `&lt;` and `&gt;` in all texts. Without `emoji`, names between colons stay as they are. */
function plain(text: string): Text & { emoji: false } {
  return { type: 'plain_text', text: withoutEmoji(escapeText(text)), emoji: false };
}

/** Inserts an invisible character into `:name:`, because a value must not become an emoji. */
export function withoutEmoji(text: string): string {
  return text.replace(/:(?=[\w+'-]+:)/g, ':\u2060');
}

function isWithinLimits({ text, fields = [] }: { text?: Text; fields?: Text[] }): boolean {
  return (text?.text.length ?? 0) <= SECTION_MAX && fields.every((field) => field.text.length <= FIELD_MAX);
}
