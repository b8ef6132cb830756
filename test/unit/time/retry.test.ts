import { afterEach, describe, expect, it, vi } from 'vitest';
import { backOff, LONGEST_MS, withinBudget } from '../../../src/daemon/time/retry.ts';

afterEach(() => vi.restoreAllMocks());

describe('the wait before the next attempt', () => {
  it.each([
    [1, 900, 1000],
    [2, 1800, 2000],
    [3, 3600, 4000],
    [4, 7200, 8000],
    [7, 54_000, 60_000],
    [100, 54_000, 60_000],
  ])('after attempt %i is between %i and %i ms', (attempts, shortest, longest) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    expect(backOff(attempts, LONGEST_MS.run)).toBe(longest);
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    expect(backOff(attempts, LONGEST_MS.run)).toBeGreaterThanOrEqual(shortest);
    expect(backOff(attempts, LONGEST_MS.run)).toBeLessThan(shortest + 10);
  });

  it('is at least as long as the platform asks for, but at most an hour', () => {
    expect(backOff(1, LONGEST_MS.run, 30)).toBe(30_000);
    expect(backOff(1, LONGEST_MS.run, 0.2)).toBeGreaterThanOrEqual(900);
    expect(backOff(1, LONGEST_MS.run, 86_400)).toBe(3_600_000);
  });

  it('is at most ten minutes for a text that waits to be sent', () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    expect(backOff(10, LONGEST_MS.send)).toBe(512_000);
    expect(backOff(11, LONGEST_MS.send)).toBe(600_000);
    expect(backOff(2000, LONGEST_MS.send)).toBe(600_000);
  });

  it('ends at the time limit at the latest, so that a last attempt is made then', () => {
    expect(withinBudget(60_000, 1_000_000, 900_000)).toBe(60_000);
    expect(withinBudget(60_000, 1_000_000, 990_000)).toBe(10_000);
    expect(withinBudget(60_000, 1_000_000, 1_000_000)).toBeNull();
  });
});
