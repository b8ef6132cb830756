import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentTurn } from '../../../../src/agent/index.ts';
import { createLlm, type LlmSettings } from '../../../../src/daemon/agent/llm/llm.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { agentTurn, fakeTool, replyOf } from '../../../support/agent-turn.ts';
import { FakeModel } from '../../../support/fake-model.ts';
import { llmSettings } from '../../../support/llm-settings.ts';
import { collectLog } from '../../../support/log-lines.ts';
import { meteredRun } from '../../../support/metered-run.ts';

const DOWN = { status: 503, headers: { 'retry-after': '0' } };
let first: FakeModel;
let second: FakeModel;
beforeAll(async () => {
  [first, second] = await Promise.all([FakeModel.start(), FakeModel.start()]);
});
afterAll(() => Promise.all([first.close(), second.close()]));

/** The reply of a run with a fallback, and the trace lines of its model calls. */
async function run(changes: Partial<LlmSettings>, turn: Partial<AgentTurn> = {}) {
  const settings = llmSettings({
    AGENT_MODEL: 'large',
    AGENT_BASE_URL: first.url,
    AGENT_API_KEY: new Secret('first-key'),
    ...changes,
  });
  const runtime = await createLlm(settings, collectLog().log);
  const { meter, lines } = meteredRun();
  const work = replyOf(runtime.run(agentTurn({ meter, ...turn })));
  return { reply: await work.catch((error: { reason: string }) => error.reason), lines: lines() };
}
const toSecond = () => ({ AGENT_FALLBACK_MODEL: 'small', AGENT_FALLBACK_BASE_URL: second.url });

/** Sets the scripts of both servers, and clears the requests that they recorded. */
function scripts(
  one: Parameters<FakeModel['script']>[0],
  two: Parameters<FakeModel['script']>[0] = [{ text: ['Here.'] }],
) {
  first.script(one);
  second.script(two);
}

describe('a fallback model', () => {
  test.each([408, 429, 500, 503])(
    'answers if the first model still answers %d after the retries',
    async (status) => {
      scripts([{ ...DOWN, status }]);
      const { reply, lines } = await run(toSecond());
      expect(reply).toBe('Here.');
      expect([first.requests.length, second.requests.length]).toEqual([4, 1]);
      expect(second.requests[0]?.model).toBe('small');
      expect(lines).toMatchObject([
        ...Array(4).fill({ verdict: 'failed', reason: 'model_overloaded', model: 'large' }),
        { verdict: 'fallback', reason: 'model_overloaded', fallback: 'small' },
        { verdict: 'ok', model: 'small' },
      ]);
    },
  );

  test('answers if the first model is unreachable', async () => {
    const gone = await FakeModel.start();
    const url = gone.url;
    await gone.close();
    scripts([]);
    // The deadline leaves less time than the wait before a retry.
    const soon = { deadline: Date.now() + 1500 };
    const { reply, lines } = await run({ ...toSecond(), AGENT_BASE_URL: url }, soon);
    expect(reply).toBe('Here.');
    expect(lines).toMatchObject([
      { verdict: 'failed' },
      { verdict: 'fallback', reason: 'model_unreachable' },
      {},
    ]);
  });

  test.each([400, 401, 404])('does not answer if the first model refuses with %d', async (status) => {
    scripts([{ status }]);
    expect((await run(toSecond())).reply).toBe('model_refused');
    expect(second.requests).toHaveLength(0);
  });

  test('does not take over after the first model has sent text', async () => {
    scripts([{ text: ['Let me look.'], tools: [{ name: 'get_user', args: {} }] }, DOWN]);
    const { reply } = await run(toSecond(), { tools: [fakeTool({ ok: true, result: {} })] });
    expect(reply).toBe('model_overloaded');
    expect(second.requests).toHaveLength(0);
  });

  test('continues the conversation, so that no tool is called a second time', async () => {
    scripts([{ tools: [{ name: 'get_user', args: {} }] }, DOWN]);
    const write = { ...fakeTool({ ok: true, result: { canceled: 7 } }), effect: 'write' as const };
    const { reply } = await run(toSecond(), { tools: [write] });
    expect(reply).toBe('Here.');
    expect(write.calls).toHaveLength(1);
    expect(second.requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '{"canceled":7}' });
  });

  test('answers all later steps of the run', async () => {
    scripts([DOWN], [{ tools: [{ name: 'get_user', args: {} }] }, { text: ['Bob.'] }]);
    const { reply } = await run(toSecond(), { tools: [fakeTool({ ok: true, result: {} })] });
    expect(reply).toBe('Bob.');
    expect([first.requests.length, second.requests.length]).toEqual([4, 2]);
  });

  test('that is down as well makes the run fail', async () => {
    scripts([DOWN], [DOWN]);
    expect((await run(toSecond())).reply).toBe('model_overloaded');
    expect([first.requests.length, second.requests.length]).toEqual([4, 4]);
  });

  test('uses the server and the key of the first model by default', async () => {
    scripts(({ model }) => (model === 'large' ? DOWN : { text: ['Small.'] }));
    expect((await run({ AGENT_FALLBACK_MODEL: 'small' })).reply).toBe('Small.');
    expect(first.requests.at(-1)).toMatchObject({ model: 'small', authorization: 'Bearer first-key' });
    scripts([DOWN]);
    await run({ ...toSecond(), AGENT_FALLBACK_API_KEY: new Secret('second-key') });
    expect(second.requests[0]?.authorization).toBe('Bearer second-key');
  });
});

describe('the builtin agent as fallback', () => {
  const builtin = { AGENT_FALLBACK_MODEL: 'builtin' };

  test('answers messages that need no model', async () => {
    scripts([DOWN]);
    const { reply, lines } = await run(builtin, { text: 'hello' });
    expect(reply).toMatch(/^Hello! I’m the assistant/);
    expect(lines.at(-1)).toEqual({ verdict: 'fallback', reason: 'model_overloaded', fallback: 'builtin' });
  });

  test('does not answer after a model has sent text', async () => {
    scripts([{ text: ['Let me look.'], tools: [{ name: 'get_user', args: {} }] }, DOWN]);
    const tools = [fakeTool({ ok: true, result: {} })];
    expect((await run(builtin, { tools })).reply).toBe('model_overloaded');
  });

  test('does not answer after a write, because it could repeat the write', async () => {
    scripts([{ tools: [{ name: 'get_user', args: {} }] }, DOWN]);
    const write = { ...fakeTool({ ok: true, result: {} }), effect: 'write' as const };
    expect((await run(builtin, { text: 'hello', tools: [write] })).reply).toBe('model_overloaded');
    scripts([{ tools: [{ name: 'get_user', args: {} }] }, DOWN]);
    const read = fakeTool({ ok: true, result: {} });
    expect((await run(builtin, { text: 'hello', tools: [read] })).reply).toMatch(/^Hello!/);
  });

  test('does not answer if a model refuses the request', async () => {
    scripts([{ status: 401 }]);
    expect((await run(builtin, { text: 'hello' })).reply).toBe('model_refused');
  });
});
