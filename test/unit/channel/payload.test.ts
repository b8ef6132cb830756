import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { retryAfterSeconds } from '../../../src/channel/index.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5) });
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([
  ['7', 7],
  [' 0 ', 0],
  ['Fri, 02 Jan 2026 03:04:35 GMT', 30],
  ['Fri, 02 Jan 2026 03:04:04 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  ['-1e', undefined],
  ['99999999999999999999', undefined],
])('a Retry-After header of %j is read as %j', (words, seconds) => {
  expect(retryAfterSeconds(new Headers({ 'Retry-After': words }))).toBe(seconds);
});

it('a missing Retry-After header is read as undefined', () => {
  expect(retryAfterSeconds(new Headers())).toBeUndefined();
});
