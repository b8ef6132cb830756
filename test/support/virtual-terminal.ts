import type { Sink } from '../../src/cli/output.ts';
import { PAINTED } from '../../src/cli/styled-text.ts';

/** A terminal in memory. It understands the escape sequences that `agentd chat` writes, and throws for others. */
export class VirtualTerminal implements Sink {
  readonly isTTY = true;
  columns: number;
  readonly rows: number;
  /** Everything that was written. */
  raw = '';
  readonly #lines: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows = 24) {
    this.columns = columns;
    this.rows = rows;
  }

  /** All rows, also those that have scrolled out. */
  get text(): string {
    return this.#lines.map((line) => line.join('').trimEnd()).join('\n');
  }

  write(text: string): void {
    this.raw += text;
    for (const [part] of text
      .replace(PAINTED, '')
      .matchAll(/\u{1b}\[(\d*)([AJK])|\n|\r|[^\u0000-\u001f\u007f]/gsu))
      this.#take(part);
    const rest = text.replace(PAINTED, '').replace(/\u{1b}\[\d*[AJK]|[\n\r]/gu, '');
    if (/[\u0000-\u001f\u007f-\u009f]/.test(rest))
      throw new Error(`control character in ${JSON.stringify(text)}`);
  }

  #take(part: string): void {
    const [, count, command] = /^\u{1b}\[(\d*)([AJK])$/u.exec(part) ?? [];
    if (part === '\n') {
      this.#row++;
      this.#column = 0;
      this.#lines[this.#row] ??= [];
    } else if (part === '\r') this.#column = 0;
    else if (command === 'A') {
      this.#row -= Number(count);
      // The cursor cannot leave the screen.
      if (this.#row < Math.max(0, this.#lines.length - this.rows))
        throw new Error('the cursor left the screen');
    } else if (command !== undefined) {
      this.#lines[this.#row]?.splice(this.#column);
      if (command === 'J') this.#lines.splice(this.#row + 1);
    } else {
      if (this.#column === this.columns) this.#take('\n');
      const line = this.#lines[this.#row] ?? [];
      line[this.#column++] = part;
    }
  }
}
