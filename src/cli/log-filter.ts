import { jsonObject } from '../channel/json-object.ts';
import { shortId } from '../daemon/admin/records.ts';

/** The levels of log lines, least severe first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which log lines to show. Absent members match every line. */
export interface LogFilter {
  /** This level and more severe ones. */
  level?: LogLevel;
  /** ms since the epoch. */
  since?: number;
  session?: string;
  request?: string;
  channel?: string;
}

/** Whether a line matches. A line that is not a JSON object matches only an empty filter. */
export function matches(line: string, filter: LogFilter): boolean {
  if (Object.keys(filter).length === 0) return true;
  const entry = jsonObject(line);
  const { level, since, session, request, channel } = filter;
  return (
    (level === undefined || LOG_LEVELS.indexOf(entry.level as LogLevel) >= LOG_LEVELS.indexOf(level)) &&
    (since === undefined || timeOf(entry) >= since) &&
    // The log contains only the beginning of a generated id.
    (session === undefined || entry.session === session || entry.session === shortId(session)) &&
    (request === undefined || entry.request_id === request) &&
    (channel === undefined || entry.channel === channel)
  );
}

/** Whether a line is older than this time. Lines are in order of time, so all lines before it are older, too. */
export function isBefore(line: string, since: number | undefined): boolean {
  return since !== undefined && timeOf(jsonObject(line)) < since;
}

function timeOf(entry: Record<string, unknown>): number {
  return Date.parse(String(entry.time));
}
