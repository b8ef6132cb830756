import { parseDuration } from './duration.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** A moment as people say it: `3 minutes ago`, `in 2 hours`, `now`. Both in ms since the epoch. */
export function relativeTime(at: number, now: number): string {
  const [unit, length] = UNITS.find(([, ms]) => Math.abs(at - now) >= ms) ?? ['second', 1000];
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.trunc((at - now) / length), unit);
}

/** A moment for machines and for comparison with the log: ISO 8601, UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

const ISO_DATE = /^\d{4}-\d{2}-\d{2}/;

/**
 * What people type for "since when": a span back from now (`30s`, `10m`, `2h`, `7d`) or an ISO 8601 moment.
 * @returns ms since the epoch; null where it is neither.
 */
export function parseSince(text: string, now: number): number | null {
  const seconds = parseDuration(text);
  if (seconds !== null) return now - seconds * 1000;
  const at = ISO_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
