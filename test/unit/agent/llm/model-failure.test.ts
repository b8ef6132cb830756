import { APICallError } from 'ai';
import { expect, it } from 'vitest';
import { modelFailure } from '../../../../src/daemon/agent/llm/model-failure.ts';

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
  ['no answer as model_unreachable', call(), 'model_unreachable', true],
  ['a 408 as model_overloaded', call(408), 'model_overloaded', true],
  ['a 429 as model_overloaded', call(429), 'model_overloaded', true],
  ['a 500 as model_overloaded', call(500), 'model_overloaded', true],
  ['a 503 as model_overloaded', call(503), 'model_overloaded', true],
  ['a 400 as model_refused', call(400), 'model_refused', false],
  ['a 401 as model_refused', call(401), 'model_refused', false],
  ['a 409, which the SDK retries, as model_refused', call(409), 'model_refused', false],
  [
    'a stream that the network broke as model_broken_stream',
    network('UND_ERR_SOCKET'),
    'model_broken_stream',
    true,
  ],
  [
    'a stream that violates the protocol as model_broken_stream',
    new Error('unexpected token'),
    'model_broken_stream',
    false,
  ],
])('modelFailure classifies %s', (_what, error, reason, passing) => {
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
])('modelFailure reads %j as a wait of %s s', (headers: Record<string, string>, seconds) => {
  expect(modelFailure(call(429, headers)).retryAfterSeconds).toBe(seconds);
});
