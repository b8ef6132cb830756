import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  failureOfStatus,
  readAnswer,
  retryAfterSeconds,
  whyUnanswered,
  withTimeout,
} from '../../../src/channel/index.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5) });
});
afterEach(() => {
  vi.restoreAllMocks();
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

it.each([
  [302, { final: false, platform: 'unreachable' }],
  [400, { final: true }],
  [401, { final: false, platform: 'credentials' }],
  [403, { final: true }],
  [408, { final: false }],
  [429, { final: false }],
  [500, { final: false, platform: 'unreachable' }],
  [503, { final: false, platform: 'unreachable' }],
])('the failure of status %i is %j', (status, failure) => {
  expect(failureOfStatus(status)).toEqual(failure);
});

it('a failure that is not final says how long the platform asks to wait', () => {
  const headers = new Headers({ 'Retry-After': '7' });
  expect(failureOfStatus(429, headers)).toEqual({ final: false, retry_after_seconds: 7 });
  expect(failureOfStatus(400, headers)).toEqual({ final: true });
});

it('an answer is read whole, and not at all if it is longer than any answer of the platform', async () => {
  expect(await readAnswer(new Response('größer'), 6)).toBe('größer');
  expect(await readAnswer(new Response('größer'), 5)).toBeNull();
  expect(await readAnswer(new Response(null), 5)).toBe('');
});

it('work ends when its time has passed or its other signal aborts, and leaves no timer or listener', async () => {
  // Other code of this process may set timers meanwhile, so only those of this test are looked at.
  const [set, cleared] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
  const left = () =>
    set.mock.results.filter(
      ({ value }, call) =>
        set.mock.calls[call]?.[1] === 7531 && !cleared.mock.calls.some(([timer]) => timer === value),
    ).length;
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const late = expect(withTimeout(7531, untilAborted)).rejects.toMatchObject({
    name: 'TimeoutError',
    message: 'it took longer than 7.531 seconds',
  });
  await vi.advanceTimersByTimeAsync(7530);
  expect(left()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await late;

  const stopped = new AbortController();
  const removed = vi.spyOn(stopped.signal, 'removeEventListener');
  expect(await withTimeout(7531, async () => 'done', stopped.signal)).toBe('done');
  expect([left(), removed.mock.calls.length]).toEqual([0, 1]);
  const ended = expect(withTimeout(7531, untilAborted, stopped.signal)).rejects.toThrow('stopped');
  stopped.abort(new Error('stopped'));
  await ended;
  const already = withTimeout(7531, async (signal) => signal.throwIfAborted(), stopped.signal);
  await expect(already).rejects.toThrow('stopped');
  expect([left(), set.mock.calls.filter(([, ms]) => ms === 7531).length]).toEqual([0, 4]);
});

it.each([
  [new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), 'no answer (ECONNREFUSED)'],
  [new TypeError('fetch failed', { cause: { code: 'https://api.example/token' } }), 'no answer'],
  [new DOMException('late', 'TimeoutError'), 'no answer in time'],
  [new DOMException('ended', 'AbortError'), 'no answer in time'],
  [new TypeError('Bearer secret is an invalid header value'), 'no answer'],
  ['https://api.example/token', 'no answer'],
])('a call that failed with %s gives a reason without secrets', (error, why) => {
  expect(whyUnanswered(error)).toBe(why);
});
