import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Writable } from 'node:stream';
import { printable } from '../../daemon/printable.ts';
import type { Sink } from '../output.ts';

const PROMPT = '> ';
/** Lines that wait while an answer is given; what is typed beyond them is dropped. */
const WAITING_MAX = 1000;

/** A terminal that shows nothing while an answer is written over it. */
class Curtain extends Writable {
  readonly isTTY = true;
  drawn = true;
  readonly #terminal: Sink;

  constructor(terminal: Sink) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    if (!this.drawn) this.#terminal.write(String(text));
    done();
  }
}

/**
 * Asks for lines on a terminal, with history by the arrow keys (in memory: what people say to an agent is not
 * for a file). What is typed while an answer comes is not shown, and is there when it has ended.
 */
export class Prompt {
  readonly #curtain: Curtain;
  readonly #reader: Interface;
  readonly #waiting: string[] = [];
  #asked: ((line: string | null) => void) | null = null;
  #closed = false;
  /** Ctrl-C while nothing is asked. */
  interrupted: () => void = () => undefined;

  constructor(input: Readable, terminal: Sink) {
    this.#curtain = new Curtain(terminal);
    this.#reader = createInterface({
      input,
      output: this.#curtain,
      terminal: true,
      prompt: PROMPT,
      historySize: 500,
      removeHistoryDuplicates: true,
    });
    this.#reader.on('line', (line) => this.#take(line));
    this.#reader.on('SIGINT', () => this.#interrupt());
    this.#reader.on('close', () => {
      this.#closed = true;
      // Whatever the shell shows next begins on a line of its own.
      if (this.#asked) this.#curtain.write('\n');
      this.#answer(null);
    });
  }

  /** The next line; null where the person leaves (Ctrl-D, or Ctrl-C on an empty line). */
  async line(): Promise<string | null> {
    const early = this.#waiting.shift();
    if (early !== undefined) {
      this.#show(() => this.#curtain.write(`${PROMPT}${printable(early)}\n`));
      return early;
    }
    if (this.#closed) return null;
    return new Promise((resolve) => {
      this.#asked = resolve;
      this.#curtain.drawn = false;
      this.#reader.prompt(true);
    });
  }

  close(): void {
    this.#reader.close();
  }

  #take(line: string): void {
    if (this.#asked) this.#answer(line);
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(line);
  }

  #interrupt(): void {
    if (!this.#asked) {
      // Whoever stops an answer does not want what they had typed after it answered instead.
      this.#waiting.length = 0;
      this.#clearLine();
      this.interrupted();
    } else if (this.#reader.line === '') {
      this.#curtain.write('\n');
      this.#answer(null);
    } else this.#clearLine();
  }

  #clearLine(): void {
    for (const name of ['e', 'u']) this.#reader.write(null, { ctrl: true, name });
  }

  #answer(line: string | null): void {
    this.#curtain.drawn = true;
    this.#asked?.(line);
    this.#asked = null;
  }

  #show(write: () => void): void {
    const { drawn } = this.#curtain;
    this.#curtain.drawn = false;
    write();
    this.#curtain.drawn = drawn;
  }
}
