import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { printable } from '../../daemon/admin/texts.ts';
import type { Sink } from '../output.ts';
import { MutedOutput } from '../terminal.ts';

/** How often the label of a prompt is looked at again, ms. */
const LABEL_MS = 15_000;
/** Maximum number of lines that are kept while an answer arrives. Further lines are dropped. */
const WAITING_MAX = 1000;

/**
 * Asks for lines on a terminal. The arrow keys bring back earlier lines, which are kept in memory only, since messages
 * to an agent do not belong in a file. Text that is typed during an answer is shown only after the answer has ended.
 */
export class Prompt {
  readonly #output: MutedOutput;
  readonly #terminal: Sink;
  readonly #env: NodeJS.ProcessEnv;
  readonly #reader: Interface;
  readonly #waiting: string[] = [];
  #resolve: ((line: string | null) => void) | null = null;
  #isClosed = false;
  #isSecret = false;
  /** Called for Ctrl-C during an answer. */
  interrupted: () => void = () => undefined;

  /** @param words what the tab key completes at the beginning of a line */
  constructor(input: Readable, terminal: Sink, words: readonly string[] = [], env = process.env) {
    this.#env = env;
    this.#terminal = terminal;
    this.#output = new MutedOutput(terminal);
    this.#reader = createInterface({
      input,
      output: this.#output,
      terminal: true,
      historySize: 500,
      removeHistoryDuplicates: true,
      completer: (line: string) => [line === '' ? [] : words.filter((word) => word.startsWith(line)), line],
    });
    this.#reader.on('history', (history: string[]) => {
      if (this.#isSecret) history.shift();
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

  /**
   * The next line; null if the person leaves (Ctrl-D, or Ctrl-C on an empty line).
   * @param label what stands before the line; it may change while the person types
   */
  async line(label: () => string): Promise<string | null> {
    const early = this.#waiting.shift();
    if (early !== undefined) {
      const { isMuted } = this.#output;
      this.#output.isMuted = false;
      this.#output.write(`${this.#paint(label())}${printable(early)}\n`);
      this.#output.isMuted = isMuted;
      return early;
    }
    if (this.#isClosed) return null;
    let shown = this.#paint(label());
    const refresh = () => {
      const now = this.#paint(label());
      if (now === shown) return;
      shown = now;
      this.#reader.setPrompt(shown);
      this.#reader.prompt(true);
    };
    const timer = setInterval(refresh, LABEL_MS);
    timer.unref();
    try {
      return await new Promise((resolve) => {
        this.#resolve = resolve;
        this.#output.isMuted = false;
        this.#reader.setPrompt(shown);
        this.#reader.prompt(true);
      });
    } finally {
      clearInterval(timer);
    }
  }

  /** Asks for a line that is neither shown nor kept. Null if the person leaves. */
  async secret(question: string): Promise<string | null> {
    if (this.#isClosed) return null;
    this.#terminal.write(question);
    this.#isSecret = true;
    const line = await new Promise<string | null>((resolve) => {
      this.#resolve = resolve;
    });
    this.#isSecret = false;
    this.#terminal.write('\n');
    return line;
  }

  #paint(label: string): string {
    return this.#env.NO_COLOR ? label : styleText(['bold', 'cyan'], label, { validateStream: false });
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
