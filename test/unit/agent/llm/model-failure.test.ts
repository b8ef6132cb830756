import { APICallError } from 'ai';
import { describe, expect, it } from 'vitest';
import { modelFailure, providerWords } from '../../../../src/daemon/agent/llm/model-failure.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';

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

const KEY = 'the-key-of-this-operator-4711';
const words = (body: unknown, request?: unknown) =>
  providerWords(typeof body === 'string' ? body : JSON.stringify(body), { keys: [new Secret(KEY)], request });

describe('the error texts of a model server', () => {
  it.each([
    [{ error: { message: 'No such model.' } }, 'No such model.'],
    [{ error: 'No such model.' }, 'No such model.'],
    [{ message: 'No such model.' }, 'No such model.'],
    [{ detail: 'No such model.' }, 'No such model.'],
    ['"No such model."', 'No such model.'],
    ['No such model.\n', 'No such model.'],
    [{ error: { message: 'No\nsuch\u001b[2J model.' } }, 'No such\ufffd[2J model.'],
  ])('are found in %j', (body, said) => {
    expect(words(body)).toBe(said);
  });

  it.each([
    ['<html>Bad gateway</html>'],
    [''],
    [null],
    [[]],
    [{ error: { code: 7 } }],
    [{ error: null }],
    ['  '],
  ])('are not found in %j', (body) => {
    expect(words(body)).toBeNull();
  });

  it.each([
    [`Wrong key: ${KEY}.`, 'Wrong key: [key].'],
    [`Wrong key: ${KEY.slice(0, 8)}…${KEY.slice(-7)}.`, 'Wrong key: [key]…[key].'],
    ['Incorrect API key provided: sk-proj-ab****************wxyz.', 'Incorrect API key provided: [key].'],
    ['Bad header: Bearer abc.def', 'Bad header: [key]'],
    [`Unknown token ${'A1b2'.repeat(10)}`, 'Unknown token [key]'],
    ['Bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl', 'Bad token [token]'],
    [
      'The model `gpt-4o-mini-2024-07-18` does not exist',
      'The model `gpt-4o-mini-2024-07-18` does not exist',
    ],
  ])('are shown without keys: %s', (message, said) => {
    expect(words({ error: { message } })).toBe(said);
  });

  it('have a limited length, however long the answer is', () => {
    const said = words({ error: { message: 'too long '.repeat(100_000) } });
    expect(said).toMatch(/^too long .*…$/);
    expect(said?.length).toBeLessThanOrEqual(301);
  });

  const request = {
    model: 'a-model-with-a-long-name-2026',
    messages: [
      { role: 'system', content: 'You help people who write to you. Known of them: ada@example.com' },
      { role: 'user', content: [{ type: 'text', text: 'My code is 1234' }] },
    ],
  };

  it.each(['Cannot read "Known of them: ada@example.com" at position 7', 'Invalid content: My code is 1234'])(
    'are dropped if they quote the request: %s',
    (message) => {
      expect(words({ error: { message } }, request)).toBeNull();
    },
  );

  it('are kept if they quote only the name of the model or a role, and no text of the messages', () => {
    const message = 'There is no model a-model-with-a-long-name-2026 for the role user.';
    expect(words({ error: { message } }, request)).toBe(message);
  });
});
