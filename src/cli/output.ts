import { measureWidth } from '../channel/characters.ts';
import {
  escapeControls,
  maskTokens,
  printable,
  printableLines,
  withoutControls,
} from '../daemon/admin/texts.ts';
import { GAP, narrowColumns, rowLines, totalWidth } from './columns.ts';
import { hang } from './hang.ts';
import { isoTime, relativeTime } from './names/typed-values.ts';
import { type Format, type Line, paint, spansWidth, wrapSpans } from './styled-text.ts';

/** Everything that a command prints: data to stdout (text, or one JSON document with `--json`), the rest to stderr. */
export interface Output {
  json: boolean;
  /** Stdout may be colored: it is a terminal, and NO_COLOR is not set. */
  color: boolean;
  /** Longest line of text; infinite if stdout is not a terminal, and with `--wide`. */
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
  /** The text of a table (`renderTable`); empty if there are no items. */
  table<T>(columns: readonly Column<T>[], items: readonly T[], width?: number): string;
  /** The text of one item, a line for each value. */
  details<T>(columns: readonly Column<T>[], item: T): string;
}

/** A stream to print to: `process.stdout`, `process.stderr`, or a stream of a test. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** The option of commands that print a list with many columns. */
export const WIDE_OPTION = {
  '--wide': 'show all columns and whole ids, even if the lines are longer than the terminal is wide',
} as const;

interface OutputOptions {
  json: boolean;
  /** The value of `--wide`. */
  wide?: boolean;
  stdout: Sink;
  stderr: Sink;
  /** Read for NO_COLOR (https://no-color.org). Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
}

/** @returns the output of one run of a command */
export function createOutput({
  json,
  wide = false,
  stdout,
  stderr,
  env = process.env,
}: OutputOptions): Output {
  const isTerminal = stdout.isTTY === true;
  const color = hasColor(stdout, env);
  // Some terminals report 0 if they do not know their width.
  const width = isTerminal && !wide ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  // Values in a text may come from anybody: from tokens, messages and answers.
  const safe = color ? styledText : printableLines;
  const relative = (at: number) => relativeTime(at, Date.now());
  const short = (at: number) => relativeTime(at, Date.now(), 'narrow');
  const out: Output = {
    json,
    color,
    width,
    data(value, text) {
      const printed = json ? jsonText(value) : text();
      stdout.write(maskTokens(endWithNewline(json ? printed : safe(printed))));
    },
    list(columns, items, none, limit = items.length) {
      const shown = items.slice(0, limit);
      const views = shown.map((item) => toJson(columns, item));
      out.data(views, () => out.table(columns, shown));
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
      const isWide = !Number.isFinite(width);
      const time = !isTerminal ? isoTime : isWide ? relative : short;
      return renderTable(columns, items, { width: most, isWide, color, time });
    },
    details(columns, item) {
      const time = (at: number) => (isTerminal ? `${isoTime(at)} (${relative(at)})` : isoTime(at));
      return renderDetails(columns, item, { width, time });
    },
  };
  return out;
}

/** Whether text for a stream may be colored: it is a terminal, and NO_COLOR is not set. */
export function hasColor({ isTTY }: Sink, env: NodeJS.ProcessEnv): boolean {
  return isTTY === true && !env.NO_COLOR;
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

/**
 * One value that a command shows: a column of a table, a line of the details of one thing, and a member of its JSON
 * object. Lists and details are arrays of these.
 */
export type Column<T> = {
  /** Heading of the column, or name of the line. Absent: the value is in the JSON only. */
  title?: string;
  /** The text that people read instead of the value. Null or empty if there is nothing to show. */
  text?(item: T): string | null | undefined;
  /** The value is a time in ms since the epoch, or null. */
  isTime?: boolean;
  align?: 'right';
  /** True: the column is shown only with `--wide`, and if standard output is not a terminal. False: only otherwise. */
  isWide?: boolean;
  /** On a terminal without `--wide`, the column is left out of a table in which it would be empty. */
  isRare?: true;
  /** The text of a table that is not wide, if it is shorter than `text`. */
  short?(item: T): string | null | undefined;
  /** The color of the text in a table. Null for none. */
  color?(item: T): CellColor | null;
  /**
   * How the column gets narrower on a terminal that is too narrow for the table: its text is wrapped or cut.
   * Absent: it stays whole, since people copy ids.
   */
  narrow?: 'wrap' | 'cut';
} & (
  | { json: keyof T & string; value?: undefined }
  // Without `json`, the value is for people only.
  | { json?: string; value(item: T): unknown }
  | { json?: undefined; value?: undefined; text(item: T): string | null | undefined }
);

export type CellColor = Extract<Format, 'green' | 'yellow' | 'red' | 'gray'>;

/** The JSON object of an item. Times are ISO 8601. */
export function toJson<T>(columns: readonly Column<T>[], item: T): Record<string, unknown> {
  const members = columns.flatMap((column) =>
    column.json === undefined ? [] : [[column.json, jsonValue(column, item)]],
  );
  return Object.fromEntries(members);
}

/**
 * What people read in a column.
 * @param time how a time is shown
 */
function formatCell<T>(column: Column<T>, item: T, time: (at: number) => string): string {
  if (column.text) return column.text(item) ?? '';
  const value = rawValue(column, item);
  if (value === null || value === undefined) return '';
  return column.isTime ? time(Number(value)) : String(value);
}

function jsonValue<T>(column: Column<T>, item: T): unknown {
  const value = rawValue(column, item);
  return column.isTime && typeof value === 'number' ? isoTime(value) : value;
}

function rawValue<T>(column: Column<T>, item: T): unknown {
  if (column.value) return column.value(item);
  return column.json === undefined ? undefined : item[column.json as keyof T];
}

/** Indentation of a value that does not fit beside the others. */
const INDENT = '    ';
/** No column is made narrower than this, however narrow the terminal is. */
const NARROWEST = { wrap: 20, cut: 12 } as const;

interface DetailsStyle {
  /** Longest line; infinite if standard output is not a terminal. */
  width: number;
  time(at: number): string;
}

interface TableStyle extends DetailsStyle {
  isWide: boolean;
  color: boolean;
}

/**
 * Aligned columns without borders, under a line with their titles. If the terminal is too narrow for the table, columns
 * with `narrow` are wrapped or cut. If that is not enough, the values of the last column move below their rows if they
 * can be wrapped. Otherwise each item becomes a block of lines.
 */
function renderTable<T>(columns: readonly Column<T>[], items: readonly T[], style: TableStyle): string {
  if (items.length === 0) return '';
  const { width, isWide, color } = style;
  const shown = columns.filter(
    (column) =>
      column.title !== undefined &&
      (column.isWide ?? isWide) === isWide &&
      // A program that reads a table finds the same columns each time.
      !(column.isRare && !isWide && items.every((item) => formatCell(column, item, style.time) === '')),
  );
  const cell = (column: Column<T>, item: T) =>
    !isWide && column.short ? (column.short(item) ?? '') : formatCell(column, item, style.time);
  const head = shown.map(({ title = '' }): Line => [{ text: printable(title), formats: ['bold'] }]);
  const rows = items.map((item) =>
    shown.map((column): Line => {
      const format = column.color?.(item);
      return [{ text: printable(cell(column, item)), formats: format ? [format] : [] }];
    }),
  );
  const lines =
    tableLines([head, ...rows], shown, width) ??
    (shown.at(-1)?.narrow === 'wrap' ? foldedLines([head, ...rows], shown, width) : null);
  if (lines === null) return items.map((item) => valueLines(shown, item, cell, width)).join('\n');
  return lines
    .flatMap((row) => row.map((line) => `${paint(line, { color, links: false }).trimEnd()}\n`))
    .join('');
}

/** A line for each value that an item has: its name and the value. */
function renderDetails<T>(columns: readonly Column<T>[], item: T, { width, time }: DetailsStyle): string {
  return valueLines(columns, item, (column) => formatCell(column, item, time), width);
}

function valueLines<T>(
  columns: readonly Column<T>[],
  item: T,
  format: (column: Column<T>, item: T) => string,
  width: number,
): string {
  const values = columns.flatMap((column) => {
    const text = printable(format(column, item));
    return column.title === undefined || text === '' ? [] : [{ title: column.title, text }];
  });
  const indent = Math.max(...values.map(({ title }) => title.length)) + GAP.length;
  return values.map(({ title, text }) => hang(title, text, { indent, width })).join('');
}

type Rows = readonly (readonly Line[])[];

/** The lines of each row. Null if the table does not fit. */
function tableLines<T>(rows: Rows, columns: readonly Column<T>[], width: number): Line[][] | null {
  const natural = columns.map((_, column) => Math.max(...rows.map((row) => spansWidth(row[column] ?? []))));
  const least = columns.map(({ narrow }) => (narrow ? NARROWEST[narrow] : Number.POSITIVE_INFINITY));
  const widths = narrowColumns(natural, least, width);
  if (totalWidth(widths) > width) return null;
  const fitted = (cell: Line, column: number) => {
    const most = widths[column] ?? 0;
    return columns[column]?.narrow === 'wrap' ? wrapSpans(cell, most) : [cut(cell, most)];
  };
  return rows.map((row) => rowLines(row.map(fitted), widths, (column) => columns[column]?.align === 'right'));
}

/** The table with its last column indented below each row. The title of that column is left out. */
function foldedLines<T>(rows: Rows, columns: readonly Column<T>[], width: number): Line[][] | null {
  const short = rows.map((row) => row.slice(0, -1));
  return (
    tableLines(short, columns.slice(0, -1), width)?.map((lines, index) => {
      const last = index === 0 ? [] : (rows[index]?.at(-1) ?? []);
      if (spansWidth(last) === 0) return lines;
      const below = wrapSpans(last, width - INDENT.length);
      return [...lines, ...below.map((line) => [{ text: INDENT }, ...line])];
    }) ?? null
  );
}

/** A cell of one span, or its beginning with `…` if it is wider. */
function cut(cell: Line, width: number): Line {
  if (spansWidth(cell) <= width) return cell;
  return cell.map((span) => {
    const characters = [...span.text].slice(0, width - 1);
    while (measureWidth(characters.join('')) >= width) characters.pop();
    return { ...span, text: `${characters.join('')}…` };
  });
}

/** Texts below their names, for the end of the details of one thing. Empty texts are left out. */
export function namedTexts(texts: Readonly<Record<string, string | null | undefined>>): string {
  return Object.entries(texts)
    .flatMap(([name, text]) => (text ? [`\n${name}:\n${indent(text, '  ')}\n`] : []))
    .join('');
}

/** A value as a JSON document of several lines, without control characters. */
export function jsonText(value: unknown): string {
  return escapeControls(JSON.stringify(value, null, 2) ?? 'null');
}

/**
 * Text with its line breaks, each line indented, except empty ones.
 * @param first the indentation of the first line, if it differs
 */
export function indent(text: string, by: string, first = by): string {
  return text
    .split('\n')
    .map((line, index) => (line === '' ? '' : `${index === 0 ? first : by}${withoutControls(line)}`))
    .join('\n');
}
