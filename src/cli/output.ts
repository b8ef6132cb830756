import { escapeControls, maskTokens, printableLines } from '../daemon/admin/texts.ts';
import { type Column, jsonOf, renderDetails, renderTable } from './render-table.ts';
import { isoTime, relativeTime } from './time-words.ts';

/** Everything that a command prints: data to stdout (text, or one JSON document with `--json`), the rest to stderr. */
export interface Output {
  json: boolean;
  /** Stdout may be colored: it is a terminal, and NO_COLOR is not set. */
  color: boolean;
  /** Longest line of text; infinite if stdout is not a terminal. */
  width: number;
  /**
   * Prints data with its tokens masked and its control characters replaced: `value` with `--json`, otherwise the result
   * of `text`.
   */
  data(value: unknown, text: () => string): void;
  /**
   * Prints a table or, with `--json`, an array. If there are no items, `none` goes to stderr.
   * @param limit maximum number of items that are printed; if there are more, a line on stderr says so. Default: all.
   */
  list<T>(columns: readonly Column<T>[], items: readonly T[], none: string, limit?: number): void;
  /**
   * Prints text to stdout unchanged, for commands whose output is not one document. They mask tokens and replace control
   * characters themselves.
   */
  write(text: string): void;
  /** Prints a line to stderr, like the text of `data`. */
  note(text: string): void;
  /** The text of a table (render-table.ts). */
  table<T>(columns: readonly Column<T>[], items: readonly T[], width?: number): string;
  /** The text of one item, a line for each value. */
  details<T>(columns: readonly Column<T>[], item: T): string;
}

/** A stream to print to: `process.stdout`, `process.stderr`, or a stream of a test. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface OutputOptions {
  json: boolean;
  stdout: Sink;
  stderr: Sink;
  /** Read for NO_COLOR (https://no-color.org). Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
}

/** @returns the output of one run of a command */
export function createOutput({ json, stdout, stderr, env = process.env }: OutputOptions): Output {
  const isTerminal = stdout.isTTY === true;
  const color = isTerminal && !env.NO_COLOR;
  // Some terminals report 0 if they do not know their width.
  const width = isTerminal ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  // Values in a text may come from anybody: from tokens, messages and answers.
  const safe = color ? styledText : printableLines;
  const relative = (at: number) => relativeTime(at, Date.now());
  const out: Output = {
    json,
    color,
    width,
    data(value, text) {
      const printed = json ? escapeControls(JSON.stringify(value, null, 2)) : text();
      stdout.write(maskTokens(endWithNewline(json ? printed : safe(printed))));
    },
    list(columns, items, none, limit = items.length) {
      const shown = items.slice(0, limit);
      const views = shown.map((item) => jsonOf(columns, item));
      out.data(views, () => (shown.length === 0 ? '' : out.table(columns, shown)));
      if (items.length > limit)
        out.note(`Only the first ${limit === 1 ? 'is' : `${limit} are`} shown; --limit shows more.`);
      if (items.length === 0) out.note(none);
    },
    write(text) {
      stdout.write(text);
    },
    note(text) {
      stderr.write(maskTokens(endWithNewline(printableLines(text))));
    },
    table(columns, items, most = width) {
      return renderTable(columns, items, { width: most, bold: color, time: isTerminal ? relative : isoTime });
    },
    details(columns, item) {
      const time = (at: number) => (isTerminal ? `${isoTime(at)} (${relative(at)})` : isoTime(at));
      return renderDetails(columns, item, { width, bold: color, time });
    },
  };
  return out;
}

/** The sequences of the styles that commands use: bold, and the colors of `doctor`. */
const STYLES = /(\u{1b}\[(?:1|22|3[1-3]|39|90)m)/u;

/** The text without control characters, except for those styles. */
function styledText(text: string): string {
  // A part with an odd index is a style.
  return text
    .split(STYLES)
    .map((part, index) => (index % 2 === 1 ? part : printableLines(part)))
    .join('');
}

function endWithNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
