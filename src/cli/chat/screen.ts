import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { printable, printableLines, StreamMask } from '../../daemon/admin/texts.ts';
import type { Sink } from '../output.ts';
import { MutedOutput } from '../terminal.ts';

/** Moves the cursor to the start of the line, and clears the line. */
const CLEAR_LINE = '\r\u{1b}[K';

/**
 * Shows a chat: answers on standard output, everything else on standard error. A terminal also gets a status line,
 * which is removed when other output follows. An answer cannot move the cursor, color the text, or show a token.
 */
export class Screen {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #color: boolean;
  #mask = new StreamMask();
  /** The first half of a character that was cut in two. */
  #half = '';
  /** Whether the last text on standard output ended within a line. */
  #isMidLine = false;
  #status = '';

  constructor(stdout: Sink, stderr: Sink, env: NodeJS.ProcessEnv = process.env) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#color = stderr.isTTY === true && !env.NO_COLOR;
  }

  /** Shows the next piece of the answer. */
  text(piece: string): void {
    let whole = this.#half + piece;
    this.#half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? '';
    whole = whole.slice(0, whole.length - this.#half.length);
    this.#print(this.#mask.push(whole));
  }

  /** Ends an answer and its line. */
  endAnswer(): void {
    this.#print(this.#mask.push(this.#half) + this.#mask.end());
    this.#mask = new StreamMask();
    this.#half = '';
    this.status('');
    this.#endLine();
  }

  /** Shows what is being done, on a terminal only. An empty text removes the status line. */
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

  /** Shows a line on standard error. */
  note(text: string): void {
    this.status('');
    if (this.#stdout.isTTY === true) this.#endLine();
    this.#stderr.write(`${escapeText(text)}\n`);
  }

  #print(text: string): void {
    if (text === '') return;
    this.status('');
    const shown = escapeText(text);
    this.#stdout.write(shown);
    if (shown !== '') this.#isMidLine = !shown.endsWith('\n');
  }

  #endLine(): void {
    if (this.#isMidLine) this.#stdout.write('\n');
    this.#isMidLine = false;
  }
}

/** Escapes control characters, except line feeds and tabs. Removes carriage returns, which could overwrite a line. */
function escapeText(text: string): string {
  return printableLines(text.replaceAll('\r', ''));
}

const PROMPT = '> ';
/** Maximum number of lines that are kept while an answer arrives. Further lines are dropped. */
const WAITING_MAX = 1000;

/**
 * Asks for lines on a terminal. The arrow keys bring back earlier lines, which are kept in memory only, since messages
 * to an agent do not belong in a file. Text that is typed during an answer is shown only after the answer has ended.
 */
export class Prompt {
  readonly #output: MutedOutput;
  readonly #reader: Interface;
  readonly #waiting: string[] = [];
  #resolve: ((line: string | null) => void) | null = null;
  #isClosed = false;
  /** Called for Ctrl-C during an answer. */
  interrupted: () => void = () => undefined;

  constructor(input: Readable, terminal: Sink) {
    this.#output = new MutedOutput(terminal);
    this.#reader = createInterface({
      input,
      output: this.#output,
      terminal: true,
      prompt: PROMPT,
      historySize: 500,
      removeHistoryDuplicates: true,
    });
    this.#reader.on('line', (line) => this.#take(line));
    this.#reader.on('SIGINT', () => this.#interrupt());
    this.#reader.on('close', () => {
      this.#isClosed = true;
      // The prompt of the shell starts on a new line.
      if (this.#resolve) this.#output.write('\n');
      this.#settle(null);
    });
  }

  /** The next line; null if the person leaves (Ctrl-D, or Ctrl-C on an empty line). */
  async line(): Promise<string | null> {
    const early = this.#waiting.shift();
    if (early !== undefined) {
      const { isMuted } = this.#output;
      this.#output.isMuted = false;
      this.#output.write(`${PROMPT}${printable(early)}\n`);
      this.#output.isMuted = isMuted;
      return early;
    }
    if (this.#isClosed) return null;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#output.isMuted = false;
      this.#reader.prompt(true);
    });
  }

  close(): void {
    this.#reader.close();
  }

  #take(line: string): void {
    if (this.#resolve) this.#settle(line);
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(line);
  }

  #interrupt(): void {
    if (!this.#resolve) {
      // A person who stops an answer does not want the lines typed during it to be sent.
      this.#waiting.length = 0;
      this.#clearLine();
      this.interrupted();
    } else if (this.#reader.line === '') {
      this.#output.write('\n');
      this.#settle(null);
    } else this.#clearLine();
  }

  #clearLine(): void {
    for (const name of ['e', 'u']) this.#reader.write(null, { ctrl: true, name });
  }

  #settle(line: string | null): void {
    this.#output.isMuted = true;
    this.#resolve?.(line);
    this.#resolve = null;
  }
}
