import { describe, expect, test } from 'vitest';
import { MAX_CALLS } from '../../../src/daemon/tools/bind-tools.ts';
import type { JsonSchema, Sent, Tool } from '../../../src/daemon/tools/tool.ts';
import { type BoundTool, bindOne, toolOf } from '../../support/tools.ts';

const parameters = {
  type: 'object',
  properties: {
    email: { type: 'string', maxLength: 20 },
    count: { type: 'integer' },
    kind: { enum: ['a', 'b'] },
  },
  additionalProperties: false,
};

const answered = (result: unknown): Sent => ({ outcome: 'answered', status: 200, result });

function bind(
  send: Tool['send'],
  signal = new AbortController().signal,
  schema: JsonSchema = parameters,
): BoundTool {
  return bindOne(toolOf({ parameters: schema, send }), { signal });
}

test('a call is reported to the readers and to the trace', async () => {
  const { bound, statuses, lines } = bind(async () => answered({ n: 1 }));
  expect(await bound.call({})).toEqual({ ok: true, result: { n: 1 } });
  expect(statuses).toEqual(['started', 'completed']);
  expect(lines()).toEqual([['ok', undefined]]);
});

test('the failure message of a tool is passed on to the agent, and the call is reported as failed', async () => {
  const { bound, statuses, lines } = bind(async () => ({
    outcome: 'failed',
    reached: false,
    reason: 'tool_failed',
    message: 'No luck.',
  }));
  expect(await bound.call({})).toEqual({ ok: false, message: 'No luck.' });
  expect(statuses).toEqual(['started', 'failed']);
  expect(lines()).toEqual([['failed', 'tool_failed']]);
});

describe('the arguments of a call', () => {
  test.each([
    [[], 'The arguments must be one JSON object.'],
    ['x', 'The arguments must be one JSON object.'],
    [{ email: 7 }, 'The argument `email` must be of type string.'],
    [{ email: 'x'.repeat(21) }, 'The argument `email` must have at most 20 characters.'],
    [{ count: 1.5 }, 'The argument `count` must be of type integer.'],
    [{ kind: 'c' }, 'The argument `kind` must be one of ["a","b"].'],
    [{ user_id: 'someone' }, 'There is no argument `user_id`.'],
    [{ constructor: 1 }, 'There is no argument `constructor`.'],
  ])('such as %j are refused, and the tool is not called', async (args, message) => {
    const { bound, statuses, lines } = bind(() => expect.fail('the tool must not be called'));
    expect(await bound.call(args)).toEqual({ ok: false, message });
    expect(statuses).toEqual(['started', 'failed']);
    expect(lines()).toEqual([['failed', 'invalid_arguments']]);
  });

  test('are checked no more in a run after they took too long to check', async () => {
    const { bound, lines } = bind(() => expect.fail('the tool must not be called'), undefined, {
      ...parameters,
      properties: { text: { type: 'string', pattern: '^(a+)+$' } },
    });
    const message = 'The arguments take too long to check. Use fewer or simpler values.';
    expect(await bound.call({ text: `${'a'.repeat(60)}!` })).toEqual({ ok: false, message });
    expect(await bound.call({ text: 'aa' })).toEqual({
      ok: false,
      message:
        'The tool cannot be used again in this run: its arguments took too long to check. Tell the person.',
    });
    expect(lines()).toEqual([
      ['failed', 'invalid_arguments'],
      ['failed', 'arguments_too_slow'],
    ]);
  });

  test.each([
    [{ text: 'x'.repeat(70_000) }, /too large/],
    [{ text: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) }, /nested too deeply/],
  ])(
    'are limited before the call is counted among equal calls, so that nothing large is kept',
    async (args, message) => {
      const { bound } = bind(() => expect.fail('the tool must not be called'), undefined, { type: 'object' });
      expect(await bound.call(args)).toEqual({ ok: false, message: expect.stringMatching(message) });
    },
  );

  test.each([undefined, null, {}])('may omit optional arguments: %j', async (args) => {
    const { bound } = bind(async (given) => answered(given));
    expect(await bound.call(args)).toEqual({ ok: true, result: {} });
  });
});

test('the number of calls in one run is limited', async () => {
  let calls = 0;
  const { bound, lines } = bind(async () => answered(++calls));
  for (let call = 0; call < MAX_CALLS; call++) await bound.call({ count: call });
  expect(await bound.call({ count: MAX_CALLS })).toEqual({
    ok: false,
    message: 'No more tool calls in this run: answer with what you have.',
  });
  expect(calls).toBe(MAX_CALLS);
  expect(lines().at(-1)).toEqual(['failed', 'too_many_calls']);
});

test('a call rejects when its run is aborted, even if the tool continues', async () => {
  const controller = new AbortController();
  const { bound, statuses, lines } = bind(() => new Promise(() => {}), controller.signal);
  const work = bound.call({});
  controller.abort(new Error('deadline'));
  await expect(work).rejects.toThrow('deadline');
  expect(statuses).toEqual(['started', 'failed']);
  expect(lines()).toEqual([['failed', 'aborted']]);
  await expect(bound.call({})).rejects.toThrow('deadline');
});
