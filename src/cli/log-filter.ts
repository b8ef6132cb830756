import { shortId } from '../daemon/session/ids.ts';

/** Levels from the least severe on, as they stand in log lines. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which log lines are wanted; what is absent is not looked at. */
export interface LogFilter {
  /** This level and the more severe ones. */
  level?: LogLevel;
  /** ms since the epoch. */
  since?: number;
  session?: string;
  request?: string;
  channel?: string;
}

/** Does a line pass? Lines that are no JSON object pass only where nothing is asked for. */
export function passes(line: string, filter: LogFilter): boolean {
  if (Object.keys(filter).length === 0) return true;
  const entry = parseEntry(line);
  if (entry === null) return false;
  const { level, since, session, request, channel } = filter;
  return (
    (level === undefined || LOG_LEVELS.indexOf(entry.level as LogLevel) >= LOG_LEVELS.indexOf(level)) &&
    (since === undefined || timeOf(entry) >= since) &&
    // The log shows only the beginning of a generated id.
    (session === undefined || entry.session === session || entry.session === shortId(session)) &&
    (request === undefined || entry.request_id === request) &&
    (channel === undefined || entry.channel === channel)
  );
}

/** Lines are written in the order of time, so before this one there is nothing more since then. */
export function isBefore(line: string, since: number | undefined): boolean {
  const entry = since === undefined ? null : parseEntry(line);
  return entry !== null && timeOf(entry) < (since ?? 0);
}

function timeOf(entry: Record<string, unknown>): number {
  return Date.parse(String(entry.time));
}

/** Null if a line is no JSON object. */
export function parseEntry(line: string): Record<string, unknown> | null {
  try {
    const entry: unknown = JSON.parse(line);
    const isObject = entry !== null && typeof entry === 'object' && !Array.isArray(entry);
    return isObject ? (entry as Record<string, unknown>) : null;
  } catch {
    // Whatever else a process wrote into the file.
    return null;
  }
}
