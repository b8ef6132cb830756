import { APICallError } from 'ai';
import { expect, it } from 'vitest';
import { modelFailure } from '../../../src/daemon/agent/model-failure.ts';

const call = (statusCode?: number, responseHeaders: Record<string, string> = {}) =>
  new APICallError({
    message: 'the whole prompt',
    url: 'http://model.invalid',
    requestBodyValues: {},
    responseHeaders,
    ...(statusCode === undefined ? {} : { statusCode }),
  });
const network = (code: string) =>
  new TypeError('terminated', { cause: Object.assign(new Error('other side closed'), { code }) });

it.each([
  ['no answer', call(), 'model_unreachable', true],
  ['408', call(408), 'model_overloaded', true],
  ['429', call(429), 'model_overloaded', true],
  ['500', call(500), 'model_overloaded', true],
  ['503', call(503), 'model_overloaded', true],
  ['400', call(400), 'model_refused', false],
  ['401', call(401), 'model_refused', false],
  ['409, which the SDK repeats', call(409), 'model_refused', false],
  ['a stream that the network broke', network('UND_ERR_SOCKET'), 'model_broken_stream', true],
  ['a stream that is not the protocol', new Error('unexpected token'), 'model_broken_stream', false],
])('%s', (_what, error, reason, passing) => {
  const failure = modelFailure(error);
  expect([failure.reason, failure.passing]).toEqual([reason, passing]);
  expect(failure.message).not.toContain('prompt');
});

it.each([
  [{ 'retry-after': '30' }, 30],
  [{ 'retry-after': '30', 'retry-after-ms': '1500' }, 1.5],
  [{ 'retry-after': '30', 'retry-after-ms': 'soon' }, 30],
  [{ 'retry-after': '30', 'retry-after-ms': '' }, 30],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('%j means a wait of %s s', (headers: Record<string, string>, seconds) => {
  expect(modelFailure(call(429, headers)).retryAfterSeconds).toBe(seconds);
});
