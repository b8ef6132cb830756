import pino from 'pino';
import type { Log } from '../../src/daemon/process/log.ts';

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** A log at debug level, and its lines. */
export function collectLog(): { log: Log; lines: LogLine[]; text(): string } {
  const lines: LogLine[] = [];
  const log = pino(
    { level: 'debug', base: null, formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) },
  );
  return { log, lines, text: () => JSON.stringify(lines) };
}
