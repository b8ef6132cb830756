import type { Sink } from '../output.ts';
import { paintedWidth } from '../styled-text.ts';

const LINE_START = '\r';
const CLEAR_BELOW = '\u{1b}[J';

/**
 * Lines at the end of a terminal that may still change. Only lines that differ are written again. A line that has
 * scrolled out of the screen stays as it is.
 */
export class LiveLines {
  readonly #terminal: Sink;
  #drawn: readonly string[] = [];
  /** Columns of the terminal when the lines were drawn. */
  #columns = 0;

  constructor(terminal: Sink) {
    this.#terminal = terminal;
  }

  /** Shows these lines instead of the lines before. The cursor stays at the end of the last line. */
  draw(lines: readonly string[]): void {
    const columns = this.#terminal.columns || 80;
    const drawn = this.#drawn;
    const hasSameWidth = drawn.length === 0 || columns === this.#columns;
    this.#drawn = [...lines];
    this.#columns = columns;
    let first = 0;
    while (first < drawn.length && drawn[first] === lines[first]) first++;
    const last = drawn.length - 1;
    const [before = '', after = ''] = [drawn[last], lines[last]];
    if (first > last) {
      this.#write(last >= 0 && lines.length > first ? '\n' : '', lines.slice(first));
    } else if (first === last && before !== '' && after.startsWith(before)) {
      this.#write('', [after.slice(before.length), ...lines.slice(last + 1)]);
    } else if (hasSameWidth) {
      // The cursor must end on the last line, so that line is written even if it is the same.
      this.#replaceFrom(Math.min(first, Math.max(lines.length - 1, 0)), lines, drawn);
    } else {
      // The terminal has wrapped the lines anew, so the cursor would not find them.
      this.#write('\n', lines.slice(first));
    }
  }

  #replaceFrom(wanted: number, lines: readonly string[], drawn: readonly string[]): void {
    const columns = this.#columns;
    const reach = (this.#terminal.rows || 24) - 1;
    let first = drawn.length;
    let up = -1;
    while (first > wanted) {
      const rows = Math.max(1, Math.ceil(paintedWidth(drawn[first - 1] ?? '') / columns));
      if (up + rows > reach) break;
      up += rows;
      first--;
    }
    if (up < 0) this.#write('\n', lines.slice(first));
    else this.#write(`${LINE_START}${up > 0 ? `\u{1b}[${up}A` : ''}${CLEAR_BELOW}`, lines.slice(first));
  }

  /** Ends the last line. The lines do not change any more. */
  end(): void {
    if (this.#drawn.length > 0) this.#terminal.write('\n');
    this.#drawn = [];
  }

  #write(before: string, lines: readonly string[]): void {
    const text = before + lines.join('\n');
    if (text !== '') this.#terminal.write(text);
  }
}
