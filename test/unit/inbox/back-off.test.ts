import { afterEach, describe, expect, it, vi } from 'vitest';
import { backOff } from '../../../src/daemon/inbox/back-off.ts';

afterEach(() => vi.restoreAllMocks());

describe('the wait before the next attempt', () => {
  it.each([
    [1, 500, 1000],
    [2, 1000, 2000],
    [3, 2000, 4000],
    [4, 4000, 8000],
    [7, 30_000, 60_000],
    [100, 30_000, 60_000],
  ])('after attempt %i lies between %i and %i ms', (attempts, shortest, longest) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    expect(backOff(attempts)).toBe(longest);
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    expect(backOff(attempts)).toBeGreaterThanOrEqual(shortest);
    expect(backOff(attempts)).toBeLessThan(shortest + 10);
  });

  it('is never less than the platform asks for, up to an hour', () => {
    expect(backOff(1, 30)).toBe(30_000);
    expect(backOff(1, 0.2)).toBeGreaterThanOrEqual(500);
    expect(backOff(1, 86_400)).toBe(3_600_000);
  });
});
