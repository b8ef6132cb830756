import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AgentTurn, ModelMeter } from '../../../src/agent/index.ts';
import { createLlm, type LlmSettings } from '../../../src/daemon/agent/llm/llm.ts';
import { budgetKey, budgetNotice } from '../../../src/daemon/agent/model-meter.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { agentTurn, fakeTool, replyOf } from '../../support/agent-turn.ts';
import { FakeModel } from '../../support/fake-model.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';
import { meteredRun } from '../../support/metered-run.ts';

const ENGLISH = new Texts().in();
const ada = personKey({ sub: 'ada' });

let model: FakeModel;
beforeAll(async () => {
  model = await FakeModel.start();
});
afterAll(() => model.close());

async function run(meter: ModelMeter, turn: Partial<AgentTurn> = {}, changes: Partial<LlmSettings> = {}) {
  const settings = llmSettings({ AGENT_MODEL: 'large', AGENT_BASE_URL: model.url, ...changes });
  const runtime = await createLlm(settings, collectLog().log);
  return runtime.run(agentTurn({ meter, ...turn }));
}

describe('the settings of a model call', () => {
  test('determine the temperature and the maximum length', async () => {
    model.script([{ text: ['Hi.'] }]);
    await replyOf(await run(meteredRun().meter, {}, { AGENT_TEMPERATURE: 0, AGENT_MAX_OUTPUT_TOKENS: 99 }));
    expect(model.requests).toMatchObject([{ temperature: 0, max_tokens: 99 }]);
  });

  test('leave the temperature and the maximum length to the model server by default', async () => {
    model.script([{ text: ['Hi.'] }]);
    await replyOf(await run(meteredRun().meter));
    expect(model.requests[0]).not.toHaveProperty('temperature');
    expect(model.requests[0]).not.toHaveProperty('max_tokens');
  });

  test('limit the history to AGENT_HISTORY_TOKENS', async () => {
    model.script([{ text: ['Hi.'] }]);
    const history = [1, 2, 3].map((n) => ({ user: `${n}`, speaker: 'u', reply: 'x'.repeat(396) }));
    await replyOf(await run(meteredRun().meter, { history }, { AGENT_HISTORY_TOKENS: 200 }));
    expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'system',
      ...['user', 'assistant'],
      ...['user', 'assistant'],
      'user',
    ]);
  });
});

describe('the usage of a run', () => {
  test('is in the trace, with one line per call, as the model reports it', async () => {
    model.script([
      { tools: [{ name: 'get_user', args: {} }], usage: { prompt_tokens: 100, completion_tokens: 10 } },
      { text: ['That is Bob.'], usage: { prompt_tokens: 130, completion_tokens: 4 } },
    ]);
    const { meter, lines, trace } = meteredRun();
    await replyOf(await run(meter, { tools: [fakeTool({ ok: true, result: {} })] }));
    expect(lines()).toEqual([
      { verdict: 'ok', model: 'large', input_tokens: 100, output_tokens: 10 },
      { verdict: 'ok', model: 'large', input_tokens: 130, output_tokens: 4 },
    ]);
    expect(trace.lines[0]?.took_ms).toEqual(expect.any(Number));
    expect(trace.lines[0]?.detail?.first_token_ms).toEqual(expect.any(Number));
    expect(meter.usage).toEqual({ input_tokens: 230, output_tokens: 14 });
  });

  test('is estimated if the model reports none', async () => {
    model.script([{ text: ['four', 'four'] }]);
    const { meter, lines } = meteredRun();
    await replyOf(await run(meter, { text: 'x'.repeat(4000) }));
    expect(lines()).toMatchObject([{ verdict: 'ok', output_tokens: 2, estimated: true }]);
    expect(meter.usage?.input_tokens).toBeGreaterThan(1000);
    expect(meter.usage?.input_tokens).toBeLessThan(1500);
  });

  test.each([
    { prompt_tokens: 10, completion_tokens: -1_000_000 },
    { prompt_tokens: -1, completion_tokens: 10 },
    { prompt_tokens: 1e308, completion_tokens: 10 },
  ])('is estimated if the model reports %o', async (usage) => {
    model.script([{ text: ['four', 'four'], usage }]);
    const { meter, lines, store } = meteredRun({ max: 5000 });
    await replyOf(await run(meter, { text: 'x'.repeat(4000) }));
    expect(lines()).toMatchObject([{ verdict: 'ok', output_tokens: 2, estimated: true }]);
    const { left } = await store.budgets.reserve('k', { id: 'next', tokens: 1, max: 5000, ttl_ms: 1000 });
    expect(left).toBeLessThan(4000);
    expect(left).toBeGreaterThan(3500);
  });

  test('counts as 0 where a runtime reports something that cannot be a number of tokens', async () => {
    const { meter, lines, store } = meteredRun({ max: 5000 });
    const call = await meter.begin({ model: 'own', provider: 'own', prompt_tokens: Number.NaN });
    if (call.ok) await call.end({ input_tokens: Number.NaN, output_tokens: -7 });
    expect(lines()).toEqual([{ verdict: 'ok', model: 'own', input_tokens: 0, output_tokens: 0 }]);
    expect(meter.usage).toEqual({ input_tokens: 0, output_tokens: 0 });
    const again = await store.budgets.reserve('k', { id: 'next', tokens: 5000, max: 5000, ttl_ms: 1000 });
    expect(again.granted).toBe(true);
  });

  test('is 0 in the trace line of an attempt that failed before any text arrived', async () => {
    model.script([{ status: 503, headers: { 'retry-after': '0' } }, { text: ['Hi.'] }]);
    const { meter, lines } = meteredRun();
    await replyOf(await run(meter));
    expect(lines()).toMatchObject([
      { verdict: 'failed', reason: 'model_overloaded', model: 'large', input_tokens: 0, output_tokens: 0 },
      { verdict: 'ok' },
    ]);
  });

  test('includes the part of an interrupted answer that arrived', async () => {
    model.script([{ cut: ['Half a sentence '] }]);
    const { meter, lines } = meteredRun();
    await expect(replyOf(await run(meter))).rejects.toMatchObject({ reason: 'model_broken_stream' });
    expect(lines()).toMatchObject([
      { verdict: 'failed', reason: 'model_broken_stream', output_tokens: 4, estimated: true },
    ]);
  });

  test('is in the trace at once if a call is aborted, and only once', async () => {
    model.script(['hang']);
    const { meter, lines } = meteredRun();
    const controller = new AbortController();
    const work = replyOf(await run(meter, { signal: controller.signal }));
    await model.hanging;
    controller.abort(new Error('deadline'));
    expect(lines()).toMatchObject([{ verdict: 'failed', reason: 'aborted', estimated: true }]);
    await expect(work).rejects.toThrow('deadline');
    expect(lines()).toHaveLength(1);
  });

  test('is in the trace if the reader of the answer disconnects', async () => {
    model.script([{ text: ['One ', 'two ', 'three.'] }]);
    const { meter, lines } = meteredRun();
    for await (const _ of await run(meter)) break;
    expect(lines()).toMatchObject([{ verdict: 'failed', reason: 'aborted' }]);
  });
});

describe('AGENT_DAILY_TOKENS', () => {
  const answer = { text: ['Hi.'], usage: { prompt_tokens: 300, completion_tokens: 200 } };
  const LIMIT = { AGENT_MAX_OUTPUT_TOKENS: 500 };

  test('refuses a call when the tokens are used up: the reply says so, and the trace gives the reason', async () => {
    model.script([answer]);
    const { meter, lines } = meteredRun({ max: 1200 });
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe(budgetNotice(ENGLISH, 24 * 3_600_000));
    expect(model.requests).toHaveLength(2);
    expect(lines().at(-1)).toMatchObject({
      verdict: 'refused',
      reason: 'budget_exhausted',
      left: 200,
      limit: 1200,
    });
  });

  test('keeps the text that was already streamed if the tokens are used up during a run', async () => {
    model.script([{ ...answer, tools: [{ name: 'get_user', args: {} }], text: ['Let me look.'] }]);
    const { meter } = meteredRun({ max: 900 });
    const tools = [fakeTool({ ok: true, result: {} })];
    expect(await replyOf(await run(meter, { tools }, LIMIT))).toBe(
      `Let me look.\n\n${budgetNotice(ENGLISH, 24 * 3_600_000)}`,
    );
    expect(model.requests).toHaveLength(1);
  });

  test('is not exceeded by simultaneous calls: a call for which too few tokens are left is not made', async () => {
    model.script([answer]);
    const { meter } = meteredRun({ max: 2100 });
    const replies = await Promise.all(
      Array.from({ length: 20 }, async () => replyOf(await run(meter, {}, LIMIT))),
    );
    expect(replies.filter((reply) => reply === 'Hi.').length).toBeGreaterThan(0);
    // Each call reserves more than 500 tokens and uses 500.
    expect(model.requests.length * 500).toBeLessThanOrEqual(2100);
  });

  test('does not count the tokens that a failed call had reserved', async () => {
    model.script([{ status: 400 }, { status: 400 }, { status: 400 }, answer]);
    const { meter } = meteredRun({ max: 1000 });
    for (let times = 0; times < 3; times++)
      await expect(replyOf(await run(meter, {}, LIMIT))).rejects.toMatchObject({ reason: 'model_refused' });
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
  });

  test.each([
    ['before its first call', 0],
    ['during a call', 1],
  ])('does not count usage if the run has lost its claim %s', async (_, lost_from) => {
    model.script([answer]);
    const { store } = meteredRun();
    let asked = 0;
    const isLost = async () => asked++ >= lost_from;
    const budget = { store: store.budgets, key: ada, max: 5000 };
    const reserve = vi.spyOn(store.budgets, 'reserve');
    const settle = vi.spyOn(store.budgets, 'settle');
    const { meter } = meteredRun({ budget, isLost });
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
    await meter.settled();
    expect([reserve.mock.calls.length, settle.mock.calls.length]).toEqual([lost_from, 0]);
  });

  test('counts usage if it is unknown whether the run has lost its claim', async () => {
    model.script([answer]);
    const { store } = meteredRun();
    const settle = vi.spyOn(store.budgets, 'settle');
    const budget = { store: store.budgets, key: ada, max: 5000 };
    const { meter } = meteredRun({ budget, isLost: () => Promise.reject(new Error('no answer')) });
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
    await meter.settled();
    expect(settle).toHaveBeenCalledOnce();
  });

  test('does not prevent the reply if the store cannot count the usage', async () => {
    model.script([answer]);
    const { store } = meteredRun();
    vi.spyOn(store.budgets, 'settle').mockRejectedValue(new Error('the disk is full'));
    const { meter } = meteredRun({ budget: { store: store.budgets, key: 'k', max: 5000 } });
    expect(await replyOf(await run(meter, {}, LIMIT))).toBe('Hi.');
    await meter.settled();
  });
});

describe('the daily tokens are counted', () => {
  const web = { name: 'webchat', has_platform: false };
  const phone = { name: 'phonechat', has_platform: true };

  test('per person on all channels, per platform user, and per address', () => {
    const on = (channel: typeof web, sender: object) =>
      budgetKey({ channel, person: null, user_id: 'u', address: '192.0.2.1', ...sender });
    expect(on(web, { person: ada })).toBe(on(phone, { person: ada, user_id: '+49', address: null }));
    expect(on(phone, { user_id: '+49', address: null })).toBe('phonechat:+49');
    expect(on(web, {})).toBe(on(web, { user_id: 'another' }));
    expect(on(web, {})).not.toBe(on(web, { address: '192.0.2.2' }));
  });
});

test('the notice about used-up tokens says when some will be available again', () => {
  expect(budgetNotice(ENGLISH, 30_000)).toMatch(/in about a minute\.$/);
  expect(budgetNotice(ENGLISH, 40 * 60_000 - 1)).toMatch(/in about 40 minutes\.$/);
  expect(budgetNotice(ENGLISH, 61 * 60_000)).toMatch(/in about 2 hours\.$/);
  expect(budgetNotice(ENGLISH, null)).toMatch(/would exceed my limit/);
});
