import { describe, expect, it } from 'vitest';
import { parseSince, relativeTime } from '../../../src/cli/typed-values.ts';

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
