import { stripVTControlCharacters, styleText } from 'node:util';
import { jsonObjectOrNull } from '../../channel/json-object.ts';
import { printable, withoutControls, wrapText } from '../texts/printable.ts';

const COLORS = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
} as const;

/**
 * One JSON log line in a form for people, made safe for a terminal. A line that is not a JSON object is only made safe.
 * @param options.date shows the day, too, for lines that may be old.
 * @param options.width longest line. If all of an entry does not fit, its fields follow on lines of their own.
 * @param options.beside words that explain the codes of an entry; they are written at the end of its line
 */
export function formatLogLine(
  line: string,
  options: {
    color: boolean;
    date?: boolean;
    width?: number;
    beside?(entry: Readonly<Record<string, unknown>>): string;
  },
): string {
  const entry = jsonObjectOrNull(line);
  if (entry === null) return `${withoutControls(line.trimEnd())}\n`;
  const { time, level, msg, err, ...fields } = entry;
  const paint = (color: 'gray' | 'green' | 'yellow' | 'red', text: string) =>
    options.color ? styleText(color, text, { validateStream: false }) : text;
  const label = printable(String(level ?? 'info'));
  const rest = Object.entries(fields)
    .map(([name, value]) => printable(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`))
    .join(' ');
  const moment = printable(String(time ?? '')).replace('T', ' ');
  const head = `${paint('gray', moment.slice(options.date ? 0 : 11, 24))} ${paint(COLORS[label as keyof typeof COLORS] ?? 'green', label.toUpperCase().padEnd(5))} ${printable(String(msg ?? ''))}`;
  const beside = printable(options.beside?.(entry) ?? '');
  const words = beside && `# ${beside}`;
  const { width = Number.POSITIVE_INFINITY } = options;
  const shown = `${head}${rest && ` ${paint('gray', rest)}`}${words && `  ${words}`}`;
  if (stripVTControlCharacters(shown).length <= width) return `${shown}\n${describeError(err)}`;
  const below = [...indentText(rest, width).map((part) => paint('gray', part)), ...indentText(words, width)];
  return `${[head, ...below].join('\n')}\n${describeError(err)}`;
}

function indentText(text: string, width: number): string[] {
  return text === '' ? [] : wrapText(text, width - 4).map((line) => `    ${line}`);
}

function describeError(err: unknown): string {
  if (err === null || typeof err !== 'object') return '';
  const { stack, message, at, cause } = err as Partial<Record<'stack' | 'message' | 'at', string>> & {
    cause?: unknown;
  };
  const told = at === undefined ? message : `${message} (at ${at})`;
  const lines = String(stack ?? told ?? '').split('\n');
  const own = lines.map((line) => `  ${withoutControls(line)}\n`).join('');
  return cause ? `${own}  caused by:\n${describeError(cause)}` : own;
}
