import { styleText } from 'node:util';
import { escapeControls, printable } from '../daemon/printable.ts';
import { maskTokens } from '../daemon/secret.ts';

/** The only writer: data to stdout (a table for people, one JSON document with `--json`), the rest to stderr. */
export interface Output {
  json: boolean;
  /** stdout is a terminal: tables may use its width. */
  terminal: boolean;
  /** stdout may be coloured (a terminal, and no NO_COLOR). */
  colour: boolean;
  /** Prints data, tokens masked: `value` with `--json`, else what `text` makes of it. */
  data(value: unknown, text: () => string): void;
  /** Prints text to stdout as it is, for commands whose output is not one document. */
  write(text: string): void;
  /** A line for the person, to stderr. */
  note(text: string): void;
  /** Aligned columns; no borders. Cells are cut only on a terminal. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): string;
}

/** Where output goes: `process.stdout` and `process.stderr`, or what a test hands in. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface OutputOptions {
  json: boolean;
  stdout: Sink;
  stderr: Sink;
  /** Looked at for NO_COLOR (https://no-color.org); default: the process's own. */
  env?: NodeJS.ProcessEnv;
}

const GAP = '  ';
/** No column is cut below this, however narrow the terminal is. */
const NARROWEST = 8;

/** @returns the writer for one call of one command. */
export function createOutput({ json, stdout, stderr, env = process.env }: OutputOptions): Output {
  const terminal = stdout.isTTY === true;
  const colour = terminal && !env.NO_COLOR;
  // Some terminals say 0 where they do not know.
  const columns = terminal ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  return {
    json,
    terminal,
    colour,
    data(value, text) {
      const printed = json ? escapeControls(JSON.stringify(value, null, 2)) : text();
      stdout.write(maskTokens(endWithNewline(printed)));
    },
    write(text) {
      stdout.write(text);
    },
    note(text) {
      stderr.write(maskTokens(endWithNewline(text)));
    },
    table(head, rows) {
      const cells = [head, ...rows].map((row) => row.map(printable));
      const widths = shrink(widest(cells), columns);
      return cells
        .map((row, index) => {
          const line = row
            .map((cell, column) => pad(cell, widths[column] ?? 0))
            .join(GAP)
            .trimEnd();
          return index === 0 && colour ? styleText('bold', line, { validateStream: false }) : line;
        })
        .map((line) => `${line}\n`)
        .join('');
    },
  };
}

function widest(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, length(cell));
  }
  return widths;
}

/** Takes from the widest column first, so that short ones stay whole. */
function shrink(widths: number[], columns: number): number[] {
  const fitted = [...widths];
  let excess = fitted.reduce((sum, width) => sum + width, GAP.length * (fitted.length - 1)) - columns;
  while (excess > 0) {
    const most = Math.max(...fitted);
    if (most <= NARROWEST) break;
    fitted[fitted.indexOf(most)] = most - 1;
    excess--;
  }
  return fitted;
}

function pad(cell: string, width: number): string {
  const characters = [...cell];
  if (characters.length > width) return `${characters.slice(0, width - 1).join('')}…`;
  return cell + ' '.repeat(width - characters.length);
}

function length(text: string): number {
  return [...text].length;
}

function endWithNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
