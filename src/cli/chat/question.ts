import { type AskedAction, type EventData, minutesLeft, readActions } from '../../channel/event-stream.ts';
import type { ConfirmationAnswer } from '../../channel/index.ts';
import { type Line, type Look, paint, type Span, spansWidth, wrapSpans } from '../styled-text.ts';

/** A question about actions that wait for the person. */
export interface Question {
  id: string;
  actions: readonly AskedAction[];
  /** ms since the epoch */
  expires_at: number;
  /** Where the question begins in the text of the answer. Null if the daemon does not say it: it is only in the text. */
  begins_at: number | null;
  /** E-mail address of the person for whom the actions would be done; null if it is for no person. */
  as: string | null;
}

/** Reads the data of the event `confirmation`. A later version of the daemon may send something else. */
export function questionIn(id: string, data: EventData): Question {
  const { expires_at, begins_at, as } = data;
  return {
    id,
    actions: readActions(data),
    expires_at: Date.parse(String(expires_at)) || Number.POSITIVE_INFINITY,
    begins_at: typeof begins_at === 'number' ? begins_at : null,
    as: typeof as === 'string' ? as : null,
  };
}

/**
 * The answer in a message: `y` or `n`, or the numbers of the actions to confirm if there are several. Null if the message
 * is anything else; the agent then answers it, and asks again.
 */
export function answerIn(message: string, { id, actions }: Question): ConfirmationAnswer | null {
  const text = message.trim();
  const [, yes, no] = /^(?:(y|yes)|(n|no))$/i.exec(text) ?? [];
  if (yes !== undefined) return { id, approve: true };
  if (no !== undefined) return { id, approve: false };
  if (actions.length < 2 || !/^\d+(?:(?:\s*,\s*|\s+)\d+)*$/.test(text)) return null;
  const numbers = text.split(/[\s,]+/).map(Number);
  const isKnown = numbers.every((number) => number >= 1 && number <= actions.length);
  return isKnown && new Set(numbers).size === numbers.length ? { id, approve: numbers } : null;
}

export function keysInWords({ actions: [first, ...others] }: Question): string {
  if (others.length > 0) return 'y confirms all, n declines all, and numbers (1,2) confirm only those';
  const label = first?.confirm_label;
  return `y: ${label ?? 'Confirm'}, n: Decline`;
}

/** How long a question is still open, in words; null if that is long enough. */
export function timeLeft(question: Question, now: number): string | null {
  const minutes = minutesLeft(question, now);
  if (minutes === null) return null;
  return minutes <= 0 ? 'this question has ended' : `${minutes} min left`;
}

/**
 * The card of a question: each action with its arguments, for whom it would be done, and the keys that answer.
 * @param findName the name of the person with this e-mail address, if it is known
 */
export function cardLines(
  question: Question,
  look: Look,
  findName: (email: string) => string | null,
  now: number,
): string[] {
  const { actions, as } = question;
  const width = look.width - BAR.text.length;
  const name = as === null ? null : findName(as);
  const left = timeLeft(question, now);
  const lines: Line[] = [
    ...actions.flatMap(({ title, details }, index) => [
      ...withLabel(actions.length > 1 ? `${index + 1}. ` : '', [{ text: title, formats: ['bold'] }], width),
      ...detailLines(details, width),
    ]),
    ...(as === null ? [] : wrapSpans([{ text: `As ${name === null ? as : `${name} (${as})`}` }], width)),
    ...(left === null ? [] : [[{ text: left, formats: ['yellow'] } satisfies Span]]),
  ];
  const keys = wrapSpans([{ text: keysInWords(question), formats: ['dim'] }], width);
  return [
    paint([{ text: '┌ Please confirm', formats: ['yellow'] }], look),
    ...lines.map((line) => paint([BAR, ...line], look)),
    ...keys.map((line, index) => paint([index === 0 ? FOOT : BAR_BELOW, ...line], look)),
  ];
}

const BAR: Span = { text: '│ ', formats: ['yellow'] };
const FOOT: Span = { text: '└ ', formats: ['yellow'] };
const BAR_BELOW: Span = { text: '  ' };

function detailLines(details: readonly { label: string; value: string }[], width: number): Line[] {
  const longest = Math.max(0, ...details.map(({ label }) => spansWidth([{ text: label }])));
  const room = Math.min(longest, Math.floor(width / 2));
  return details.flatMap(({ label, value }) => {
    const missing = Math.max(0, room - spansWidth([{ text: label }]));
    return withLabel(`  ${label}${' '.repeat(missing)}  `, [{ text: value }], width);
  });
}

/** A text beside its label. All its lines begin in the same column. */
function withLabel(label: string, text: Line, width: number): Line[] {
  const indent = spansWidth([{ text: label }]);
  return wrapSpans(text, Math.max(width - indent, 20)).map((line, index) => [
    index === 0 ? { text: label, formats: ['dim'] } : { text: ' '.repeat(indent) },
    ...line,
  ]);
}
