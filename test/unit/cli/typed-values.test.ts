import { describe, expect, it } from 'vitest';
import {
  durationInWords,
  parseDuration,
  parseSince,
  relativeTime,
} from '../../../src/cli/names/typed-values.ts';

const NOW = Date.UTC(2026, 0, 15, 12);

describe('times in words', () => {
  it.each([
    [0, 'now'],
    [-30_000, '30 seconds ago'],
    [-60_000, '1 minute ago'],
    [-3 * 3_600_000, '3 hours ago'],
    [-86_400_000, 'yesterday'],
    [2 * 3_600_000, 'in 2 hours'],
  ])('describe %i ms from now as %s', (away, words) => {
    expect(relativeTime(NOW + away, NOW)).toBe(words);
  });

  it.each([
    ['30s', NOW - 30_000],
    ['30', NOW - 30_000],
    ['10m', NOW - 600_000],
    ['2h', NOW - 7_200_000],
    ['7d', NOW - 604_800_000],
    ['2026-01-15T10:00:00Z', Date.UTC(2026, 0, 15, 10)],
    ['2026-01-15', Date.UTC(2026, 0, 15)],
  ])('are read from --since %s', (text, at) => {
    expect(parseSince(text, NOW)).toBe(at);
  });

  it.each(['', 'm', '-5m', '1.5h', 'yesterday', '2026-99-99', '10 m'])(
    'are not read from --since %j',
    (text) => {
      expect(() => parseSince(text, NOW)).toThrow('--since takes');
    },
  );
});

describe('a duration', () => {
  it.each([
    ['90', 90],
    ['90s', 90],
    ['15m', 900],
    ['24h', 86_400],
    ['7d', 604_800],
    ['0', 0],
  ])('is read from %s', (text, seconds) => expect(parseDuration(text)).toBe(seconds));

  it.each(['', 'h', '1w', '-1', '1.5h', '1 h', '1h30m', '9999999999'])('is not read from "%s"', (text) =>
    expect(parseDuration(text)).toBeNull(),
  );

  it.each([
    [0.4, '0 s'],
    [40, '40 s'],
    [60, '1 min'],
    [83_520, '23 h 12 min'],
    [86_400, '1 day'],
    [532_800, '6 days 4 h'],
    [86_460, '1 day'],
  ])('is written in its two largest units: %d s', (seconds, words) =>
    expect(durationInWords(seconds)).toBe(words),
  );
});
