import { styleText } from 'node:util';

const COLOURS = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
} as const;

/**
 * One JSON log line as people read it; what is no JSON object passes as it is.
 * @param options.date tells the day too, for lines that may be old.
 */
export function formatLogLine(line: string, options: { colour: boolean; date?: boolean }): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line.endsWith('\n') ? line : `${line}\n`;
  }
  if (entry === null || typeof entry !== 'object') return `${line.trimEnd()}\n`;
  const { time, level, msg, err, ...fields } = entry;
  const paint = (colour: 'gray' | 'green' | 'yellow' | 'red', text: string) =>
    options.colour ? styleText(colour, text, { validateStream: false }) : text;
  const label = String(level ?? 'info');
  const rest = Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  const moment = String(time ?? '').replace('T', ' ');
  const head = `${paint('gray', moment.slice(options.date ? 0 : 11, 23))} ${paint(COLOURS[label as keyof typeof COLOURS] ?? 'green', label.toUpperCase().padEnd(5))} ${String(msg ?? '')}`;
  return `${head}${rest ? ` ${paint('gray', rest)}` : ''}\n${describeError(err)}`;
}

function describeError(err: unknown): string {
  if (err === null || typeof err !== 'object') return '';
  const { stack, message, cause } = err as { stack?: string; message?: string; cause?: unknown };
  const own = `  ${(stack ?? message ?? '').replaceAll('\n', '\n  ')}\n`;
  return cause ? `${own}  caused by:\n${describeError(cause)}` : own;
}
