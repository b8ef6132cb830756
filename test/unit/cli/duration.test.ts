import { describe, expect, it } from 'vitest';
import { durationInWords, parseDuration } from '../../../src/cli/typed-values.ts';

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
