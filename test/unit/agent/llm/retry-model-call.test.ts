import { APICallError } from 'ai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { retryModelCall } from '../../../../src/daemon/agent/llm/model-fallback.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** The answer of a model server. */
function answer(statusCode: number, responseHeaders: Record<string, string> = {}): Error {
  return new APICallError({
    message: 'no',
    url: 'http://model.invalid',
    requestBodyValues: {},
    statusCode,
    responseHeaders,
  });
}

/** Makes a call with retries, in a run of `seconds`. Each attempt gets the next answer. The last answer is repeated. */
function callWith(answers: readonly (Error | string)[], seconds: number) {
  const calls: number[] = [];
  const began = Date.now();
  const run = new AbortController();
  const call = async () => {
    const next = answers[Math.min(calls.push(Date.now() - began), answers.length) - 1];
    if (next instanceof Error) throw next;
    return next;
  };
  const work = retryModelCall(call, { signal: run.signal, deadline: began + seconds * 1000 });
  work.catch(() => {});
  return { calls, run, work };
}

describe('the wait before a retry', () => {
  it.each([
    ['is as long as Retry-After, even above a minute', { 'retry-after': '90' }, 90_000],
    ['is as long as retry-after-ms', { 'retry-after': '9', 'retry-after-ms': '1500' }, 1500],
    ['is 2 s by default', {}, 2000],
  ])('%s', async (_title, headers: Record<string, string>, wait_ms) => {
    const { calls, work } = callWith([answer(429, headers), 'Hello.'], 100);
    await vi.runAllTimersAsync();
    expect(await work).toBe('Hello.');
    expect(calls).toEqual([0, wait_ms]);
  });

  it('doubles with each of the three retries', async () => {
    const busy = answer(503);
    const { calls, work } = callWith([busy], 100);
    await vi.runAllTimersAsync();
    await expect(work).rejects.toBe(busy);
    expect(calls).toEqual([0, 2000, 6000, 14_000]);
  });

  it('is skipped, and the call fails, if it would end after the run', async () => {
    const busy = answer(503, { 'retry-after': '40' });
    const { calls, work } = callWith([busy], 60);
    await vi.runAllTimersAsync();
    await expect(work).rejects.toBe(busy);
    expect(calls).toEqual([0, 40_000]);
  });

  it('ends when the run ends', async () => {
    const { calls, run, work } = callWith([answer(503)], 60);
    await vi.advanceTimersByTimeAsync(1000);
    run.abort(new Error('the daemon stops'));
    await expect(work).rejects.toThrow('the daemon stops');
    expect(calls).toEqual([0]);
  });
});

it('a request that the model refuses is not retried', async () => {
  const { calls, work } = callWith([answer(400)], 60);
  await expect(work).rejects.toThrow('no');
  expect(calls).toEqual([0]);
});
