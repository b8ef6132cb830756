import { styleText } from 'node:util';
import { printable, withoutControls } from '../../daemon/printable.ts';
import { StreamMask } from '../../daemon/secret.ts';
import type { Sink } from '../output.ts';

/** Back to the beginning of the line, and clear it. */
const CLEAR_LINE = '\r\u{1b}[K';

/**
 * What a conversation shows: answers to standard output, all else to standard error. On a terminal there is
 * also a line of what goes on, which goes away again. Nothing of an answer can move the cursor, colour the
 * text, or show a token.
 */
export class Screen {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #colour: boolean;
  #mask = new StreamMask();
  /** The first half of a character that was cut in two. */
  #half = '';
  /** What standard output ended with is a part of a line. */
  #midLine = false;
  #status = '';

  constructor(stdout: Sink, stderr: Sink, env: NodeJS.ProcessEnv = process.env) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#colour = stderr.isTTY === true && !env.NO_COLOR;
  }

  /** The next piece of the answer. */
  text(piece: string): void {
    let whole = this.#half + piece;
    this.#half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? '';
    whole = whole.slice(0, whole.length - this.#half.length);
    this.#print(this.#mask.push(whole));
  }

  /** The end of an answer, which ends its line too. */
  endAnswer(): void {
    this.#print(this.#mask.push(this.#half) + this.#mask.end());
    this.#mask = new StreamMask();
    this.#half = '';
    this.status('');
    this.#endLine();
  }

  /** What goes on; empty: nothing. For terminals only. */
  status(words: string): void {
    if (this.#stderr.isTTY !== true || words === this.#status) return;
    if (this.#status !== '') this.#stderr.write(CLEAR_LINE);
    else if (this.#stdout.isTTY === true) this.#endLine();
    this.#status = words;
    if (words === '') return;
    // A line that wrapped could not be cleared again. A terminal that knows no size says 0.
    const line = [...printable(words)].slice(0, (this.#stderr.columns || 80) - 1).join('');
    this.#stderr.write(this.#colour ? styleText('dim', line, { validateStream: false }) : line);
  }

  /** A line for the person. */
  note(text: string): void {
    this.status('');
    if (this.#stdout.isTTY === true) this.#endLine();
    this.#stderr.write(`${harmless(text)}\n`);
  }

  #print(text: string): void {
    if (text === '') return;
    this.status('');
    const shown = harmless(text);
    this.#stdout.write(shown);
    if (shown !== '') this.#midLine = !shown.endsWith('\n');
  }

  #endLine(): void {
    if (this.#midLine) this.#stdout.write('\n');
    this.#midLine = false;
  }
}

/** As it is, but for what a terminal would obey; a carriage return would let a line be written over. */
function harmless(text: string): string {
  return text
    .replaceAll('\r', '')
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : withoutControls(part)))
    .join('');
}
