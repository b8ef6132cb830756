import { usageError } from '../cli-error.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/**
 * A time relative to now: `3 minutes ago`, `in 2 hours`, `now`. `at` and `now` are in ms since the epoch.
 * @param style `narrow`: `3 min ago`, `in 2 h`
 */
export function relativeTime(at: number, now: number, style: 'long' | 'narrow' = 'long'): string {
  const [unit, length] = UNITS.find(([, ms]) => Math.abs(at - now) >= ms) ?? ['second', 1000];
  const amount = Math.trunc((at - now) / length);
  if (style === 'narrow' && unit !== 'day' && amount !== 0) {
    const words = `${Math.abs(amount)} ${{ hour: 'h', minute: 'min', second: 's' }[unit]}`;
    return amount < 0 ? `${words} ago` : `in ${words}`;
  }
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(amount, unit);
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

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const WRITTEN = /^(\d{1,9})([smhd]?)$/;

/** A duration as people type it: `90` or `90s`, `15m`, `24h`, `7d`. @returns seconds; null if it is not a duration */
export function parseDuration(text: string): number | null {
  const written = WRITTEN.exec(text);
  if (!written) return null;
  return Number(written[1]) * (SECONDS[written[2] as keyof typeof SECONDS] ?? 1);
}

/** A duration as people read it, in its two largest units: `23 h 12 min`, `6 days 4 h`, `40 s`. */
export function durationInWords(seconds: number): string {
  const whole = Math.trunc(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'days'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${count === 1 && unit === 'days' ? 'day' : unit}`)
    .join(' ');
}

/** A whole number from the command line. Throws CliError (2) if the value is anything else, or out of bounds. */
export function wholeNumber(
  option: string,
  value: string | number | undefined,
  { min, max }: { min: number; max: number },
): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw usageError(`${option} takes a whole number from ${min} to ${max}, not '${String(value)}'`);
}

/** One of these words from the command line. Throws CliError (2) if the value is anything else. */
export function oneOf<T extends string>(option: string, value: string, words: readonly T[]): T {
  const word = words.find((known) => known === value);
  if (word !== undefined) return word;
  throw usageError(`${option} takes one of ${words.join(', ')}, not '${value}'`);
}
