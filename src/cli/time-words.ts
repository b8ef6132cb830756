import { usageError } from './cli-error.ts';
import { parseDuration } from './duration.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** A time relative to now: `3 minutes ago`, `in 2 hours`, `now`. `at` and `now` are in ms since the epoch. */
export function relativeTime(at: number, now: number): string {
  const [unit, length] = UNITS.find(([, ms]) => Math.abs(at - now) >= ms) ?? ['second', 1000];
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.trunc((at - now) / length), unit);
}

/** A time for programs, and for comparison with the log: ISO 8601, UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** Like `isoTime`, for a time that may be absent. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

const ISO_DATE = /^\d{4}-\d{2}-\d{2}/;

/**
 * The value of `--since`: a duration before now (`30s`, `10m`, `2h`, `7d`), or an ISO 8601 time.
 * @returns ms since the epoch
 * @throws CliError (2) if it is neither
 */
export function parseSince(text: string, now: number): number {
  const seconds = parseDuration(text);
  if (seconds !== null) return now - seconds * 1000;
  const at = ISO_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw usageError(`--since takes 30s, 10m, 2h, 7d or an ISO 8601 time, not '${text}'`);
}
