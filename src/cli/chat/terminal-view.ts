import type { ActionsEvent } from '../../channel/event-stream.ts';
import { FENCE, isClosing } from '../../channel/markdown/source.ts';
import { maskTokens, StreamMask } from '../../daemon/admin/texts.ts';
import type { Sink } from '../output.ts';
import { type Look, paint, type Span, spansWidth, wrapSpans } from '../styled-text.ts';
import { type ChatView, receiptInWords, type ToolActivity } from './chat-view.ts';
import { LiveLines } from './live-lines.ts';
import { markdownLines } from './markdown-lines.ts';
import { cardLines, type Question } from './question.ts';

/** A part of an answer, in the order in which it arrived. */
type Part = TextPart | ToolActivity;

interface TextPart {
  source: string;
  /** Length of the part of `source` whose lines do not change any more. */
  settled: number;
  lines: readonly string[];
}

/**
 * Shows a chat on a terminal: Markdown, tools, what was done, and questions as cards. The answer is drawn again while it
 * arrives. Nothing in it can move the cursor, color the text or show a token: all texts pass `paint`.
 */
export class TerminalView implements ChatView {
  readonly #terminal: Sink;
  readonly #env: NodeJS.ProcessEnv;
  readonly #live: LiveLines;
  #parts: Part[] = [];
  #question: Question | null = null;
  #receipts: ActionsEvent | null = null;
  #status = '';
  /** Columns of the terminal when the answer began. */
  #columns = 0;
  readonly #findName: (email: string) => string | null;

  /** @param findName the name of the person with this e-mail address, if it is known */
  constructor(
    terminal: Sink,
    findName: (email: string) => string | null,
    env: NodeJS.ProcessEnv = process.env,
  ) {
    this.#terminal = terminal;
    this.#findName = findName;
    this.#env = env;
    this.#live = new LiveLines(terminal);
  }

  text(whole: string): void {
    // The text of a question may arrive after the question itself.
    const piece = whole.slice(0, this.#room());
    if (piece === '') return;
    const last = this.#parts.at(-1);
    if (last && 'source' in last) last.source += piece;
    else this.#parts.push({ source: piece, settled: 0, lines: [] });
    this.#status = '';
    this.#draw();
  }

  tool(activity: ToolActivity): void {
    const begun = this.#parts.findLastIndex(
      (part) => 'name' in part && part.name === activity.name && part.status === 'started',
    );
    if (begun < 0) this.#parts.push(activity);
    else this.#parts[begun] = activity;
    this.#draw();
  }

  question(question: Question): void {
    this.#question = question;
    if (question.begins_at !== null) this.#cutAt(question.begins_at);
    this.#draw();
  }

  receipts(receipts: ActionsEvent): void {
    this.#receipts = receipts;
    if (receipts.begins_at !== null) this.#cutAt(receipts.begins_at);
    this.#draw();
  }

  status(text: string): void {
    if (text === this.#status) return;
    this.#status = text;
    this.#draw();
  }

  endAnswer(): void {
    this.#status = '';
    // A link may be defined after the text that uses it, so the whole text is read once more.
    for (const part of this.#parts) if ('source' in part) Object.assign(part, { settled: 0, lines: [] });
    this.#draw(true);
    this.#live.end();
    const question = this.#question;
    if (question) {
      const lines = cardLines(question, this.#look, this.#findName, Date.now());
      this.#terminal.write(`\n${lines.join('\n')}\n`);
    }
    this.#terminal.write('\n');
    this.#parts = [];
    this.#question = null;
    this.#receipts = null;
    this.#columns = 0;
  }

  note(text: string): void {
    const look = this.#look;
    const lines = maskTokens(text)
      .split('\n')
      .flatMap((line) => {
        const whole: Span[] = [{ text: line }];
        if (spansWidth(whole) <= look.width) return [whole];
        // The first column, if there are two.
        const [term = ''] = /^\S+ {2,}/.exec(line) ?? [];
        const lines = wrapSpans([{ text: line.slice(term.length) }], look.width - term.length);
        return lines.map((spans, at) => [{ text: at === 0 ? term : ' '.repeat(term.length) }, ...spans]);
      });
    this.#terminal.write(`${lines.map((line) => paint(line, look)).join('\n')}\n\n`);
  }

  get #look(): Look {
    const columns = this.#columns || this.#terminal.columns || 80;
    // A full line would leave the cursor in a column of its own.
    return { width: columns - 1, color: !this.#env.NO_COLOR, links: hasLinks(this.#env) };
  }

  /** How much more text is shown: none after the place where the lines about writes, or the question, begin. */
  #room(): number {
    const ends = [this.#receipts?.begins_at, this.#question?.begins_at];
    const begins_at = Math.min(...ends.map((end) => end ?? Number.POSITIVE_INFINITY));
    const shown = this.#parts.map((part) => ('source' in part ? part.source.length : 0));
    return Math.max(0, begins_at - shown.reduce((sum, one) => sum + one, 0));
  }

  /** Drops the text after this place, which counts from the beginning of the answer. */
  #cutAt(place: number): void {
    let rest = place;
    for (const part of this.#parts) {
      if (!('source' in part)) continue;
      const source = part.source.slice(0, rest);
      rest -= source.length;
      if (source !== part.source) Object.assign(part, { source, settled: 0, lines: [] });
    }
  }

  #draw(isEnd = false): void {
    this.#columns ||= this.#terminal.columns || 80;
    const look = this.#look;
    const lines: string[] = [];
    let before: Part | null = null;
    const { actions = [] } = this.#receipts ?? {};
    for (const part of this.#parts) {
      // What a write did stands at the end.
      if ('name' in part && actions.some(({ tool }) => tool === part.name)) continue;
      const made = 'source' in part ? textLines(part, look, isEnd) : toolLines(part, look);
      if (made.length === 0) continue;
      if (before !== null && ('source' in part || 'source' in before)) lines.push('');
      lines.push(...made);
      before = part;
    }
    if (lines.length > 0 && actions.length > 0) lines.push('');
    lines.push(...actions.flatMap((action) => receiptLines(action, look)));
    if (this.#status !== '') lines.push(statusLine(this.#status, look));
    // An empty line is between the message and its answer.
    this.#live.draw(lines.length > 0 ? ['', ...lines] : []);
  }
}

function textLines(part: TextPart, look: Look, isEnd: boolean): string[] {
  const { source, settled } = part;
  // Until the end, the possible beginning of a token is held back.
  if (isEnd) return markdownLines(maskTokens(source), look);
  const begin = settled + lastBlock(source.slice(settled));
  if (begin > settled) {
    const more = markdownLines(maskTokens(source.slice(settled, begin)), look);
    part.lines = [...part.lines, ...(more.length > 0 ? [...more, ''] : [])];
    part.settled = begin;
  }
  const open = markdownLines(new StreamMask().push(source.slice(begin)), look);
  return open.length > 0 ? [...part.lines, ...open] : part.lines.slice(0, -1);
}

/** Where the last block begins that more text may change. */
function lastBlock(text: string): number {
  let [begin, at] = [0, 0];
  let fence: string | null = null;
  let isAfterBlank = false;
  for (const line of text.split('\n')) {
    if (fence === null && isAfterBlank && /^\S/.test(line) && !GOES_ON.test(line)) begin = at;
    if (fence !== null) {
      if (isClosing(line, fence)) fence = null;
    } else fence = FENCE.exec(line)?.[0] ?? null;
    isAfterBlank = line.trim() === '';
    at += line.length + 1;
  }
  return begin;
}

/** After an empty line, such a line may continue a list. The first characters of a line may be the sign of an item. */
const GOES_ON = /^(?:[-+*]|\d{1,9}[.)]?)(?:\s|$)/;

const SIGNS = {
  started: { text: '…', formats: ['dim'] },
  completed: { text: '✓', formats: ['green'] },
  failed: { text: '✗', formats: ['red'] },
  locked: { text: '!', formats: ['yellow'] },
  unknown: { text: '?', formats: ['yellow'] },
} as const satisfies Readonly<Record<string, Span>>;

function toolLines({ title, status, needs_sign_in }: ToolActivity, look: Look): string[] {
  const end = needs_sign_in
    ? ': sign in first, with /sign-in'
    : status === 'failed'
      ? ': that did not work'
      : '';
  return addSign(needs_sign_in ? 'locked' : status, { text: `${title}${end}`, formats: ['dim'] }, look);
}

function receiptLines(action: ActionsEvent['actions'][number], look: Look): string[] {
  const sign = action.outcome === 'done' ? 'completed' : action.outcome;
  return addSign(sign, { text: receiptInWords(action) }, look);
}

/** A text after a sign. All its lines begin in the same column. */
function addSign(sign: keyof typeof SIGNS, text: Span, look: Look): string[] {
  return wrapSpans([text], look.width - 2).map((line, index) =>
    paint([index === 0 ? SIGNS[sign] : { text: ' ' }, { text: ' ' }, ...line], look),
  );
}

function statusLine(text: string, look: Look): string {
  const line = [...text].slice(0, look.width).join('');
  return paint([{ text: line, formats: ['dim'] }], look);
}

/** Terminals that are known to take links (OSC 8), by a variable that they set. Others might show the address as text. */
function hasLinks(env: NodeJS.ProcessEnv): boolean {
  return (
    Number(env.VTE_VERSION) >= 5000 ||
    /^(iTerm\.app|WezTerm|vscode|ghostty|Hyper|Tabby)$/.test(env.TERM_PROGRAM ?? '') ||
    /^(xterm-kitty|xterm-ghostty|alacritty|foot)/.test(env.TERM ?? '') ||
    env.WT_SESSION !== undefined ||
    env.KONSOLE_VERSION !== undefined
  );
}
