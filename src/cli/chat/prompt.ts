import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { printable } from '../../daemon/admin/texts.ts';
import { MutedOutput } from '../muted-output.ts';
import type { Sink } from '../output.ts';

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
