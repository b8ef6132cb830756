import { styleText } from 'node:util';
import type { ActionsEvent } from '../../channel/event-stream.ts';
import { printable, printableLines, StreamMask } from '../../daemon/admin/texts.ts';
import { hasColor, type Sink } from '../output.ts';
import { type ChatView, receiptInWords, type ToolActivity } from './chat-view.ts';
import type { Question } from './question.ts';

/** Half of a character, and what joins it to the next one. */
const UNFINISHED = /(?:[\u200b-\u200d]|\ufe0f)?[\ud800-\udbff]?$/;

/** Moves the cursor to the start of the line, and clears the line. */
const CLEAR_LINE = '\r\u{1b}[K';

/**
 * Shows a chat as plain text: answers on standard output, everything else on standard error. If standard error is a
 * terminal, it also gets a status line, which is removed when other output follows. An answer cannot move the cursor,
 * color the text, or show a token.
 */
export class Screen implements ChatView {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #color: boolean;
  #mask = new StreamMask();
  /** The end of a text that can only be printed together with what follows (`UNFINISHED`). */
  #begun = '';
  /** The text of the answer that was printed last. */
  #before = '';
  /** Whether the last text on standard output ended within a line. */
  #isMidLine = false;
  #status = '';
  #question: Question | null = null;
  #receipts: ActionsEvent | null = null;

  constructor(stdout: Sink, stderr: Sink, env: NodeJS.ProcessEnv = process.env) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#color = hasColor(stderr, env);
  }

  text(piece: string): void {
    const whole = this.#begun + piece;
    this.#begun = UNFINISHED.exec(whole)?.[0] ?? '';
    this.#print(this.#mask.push(whole.slice(0, whole.length - this.#begun.length)));
  }

  tool({ title, status }: ToolActivity): void {
    if (status === 'started') this.status(`${title}…`);
    else if (status === 'failed') this.note(`${title} failed`);
  }

  receipts(receipts: ActionsEvent): void {
    this.#receipts = receipts;
  }

  question(question: Question): void {
    this.#question = question;
  }

  endAnswer(): void {
    this.#print(this.#mask.push(this.#begun) + this.#mask.end());
    this.#mask = new StreamMask();
    this.#begun = '';
    this.status('');
    this.#endLine();
    // Usually, the answer ends with a line for each of them.
    const { actions = [], begins_at = null } = this.#receipts ?? {};
    if (begins_at === null) for (const action of actions) this.note(receiptInWords(action));
    this.#receipts = null;
    if (this.#question) this.note(`You can also answer with ${describeKeys(this.#question)}.`);
    this.#question = null;
  }

  status(text: string): void {
    if (this.#stderr.isTTY !== true || text === this.#status) return;
    if (this.#status !== '') this.#stderr.write(CLEAR_LINE);
    else if (this.#stdout.isTTY === true) this.#endLine();
    this.#status = text;
    if (text === '') return;
    // A wrapped line could not be cleared. A terminal that does not know its width reports 0.
    const line = [...printable(text)].slice(0, (this.#stderr.columns || 80) - 1).join('');
    this.#stderr.write(this.#color ? styleText('dim', line, { validateStream: false }) : line);
  }

  note(text: string): void {
    this.status('');
    if (this.#stdout.isTTY === true) this.#endLine();
    this.#stderr.write(`${escapeText(text)}\n`);
  }

  #print(text: string): void {
    if (text === '') return;
    this.status('');
    const shown = escapeText(text, this.#before);
    this.#before = text;
    this.#stdout.write(shown);
    if (shown !== '') this.#isMidLine = !shown.endsWith('\n');
  }

  #endLine(): void {
    if (this.#isMidLine) this.#stdout.write('\n');
    this.#isMidLine = false;
  }
}

/** Escapes control characters, except line feeds and tabs. Removes carriage returns, which could overwrite a line. */
function escapeText(text: string, before?: string): string {
  return printableLines(text.replaceAll('\r', ''), before);
}

function describeKeys({ actions: [first, ...others] }: Question): string {
  if (others.length > 0) return 'y or n for all of them, or with the numbers (1,2) of those to confirm';
  return first?.confirm_label === undefined ? 'y or n' : `y (${first.confirm_label}) or n`;
}
