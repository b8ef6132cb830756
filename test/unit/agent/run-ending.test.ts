import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import { adviceFor } from '../../../src/cli/advice/advice.ts';
import { traceInWords } from '../../../src/cli/views/trace-view.ts';
import { createLlm } from '../../../src/daemon/agent/llm/llm.ts';
import type { Trace } from '../../../src/daemon/trace/trace.ts';
import { agentTurn, fakeTool, replyOf } from '../../support/agent-turn.ts';
import { FakeModel, type ModelAnswer } from '../../support/fake-model.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';
import { meteredRun } from '../../support/metered-run.ts';
import { bindOne, toolOf } from '../../support/tools.ts';
import { capturedOutput } from '../cli/captured-output.ts';

let model: FakeModel;
beforeAll(async () => {
  model = await FakeModel.start();
});
afterAll(() => model.close());

/** Runs the model with these answers. @returns the reply and the lines that say how the run ended */
async function run(answers: readonly ModelAnswer[], turn: Partial<AgentTurn> = {}) {
  model.script(answers);
  const settings = llmSettings({ AGENT_MODEL: 'm', AGENT_BASE_URL: model.url, AGENT_MAX_STEPS: 2 });
  const runtime = await createLlm(settings, collectLog().log);
  const { meter, trace } = meteredRun();
  const reply = await replyOf(runtime.run(agentTurn({ meter, ...turn })));
  // The lines of the model's calls name their model.
  const own = trace.lines.filter(({ detail }) => detail?.model === undefined);
  return { reply, lines: own.map(({ at: _, ...line }) => line), trace };
}

/** What `agentd explain` says about the trace of a message that was answered. */
function explained({ trace }: { trace: Trace }): string {
  const record = {
    ...{ turn_id: 't', request_id: 'r', session_id: 's', message_id: null, platform: 'webchat' },
    ...{ user_id: 'u', started_at: 0, finished_at: 1, outcome: 'answered', lines: trace.lines },
  };
  const message = { trace: record, waits: null, actions: [], feedback: null };
  return traceInWords(message, capturedOutput().out);
}

const tool = () => fakeTool({ ok: true, result: {} });
const call = (name: string, raw = '{}') => ({ tools: [{ name, args: {}, raw }] });

describe('the trace says how a run of the model ended', () => {
  test.each<[string, readonly ModelAnswer[], object]>([
    ['steps_exhausted', [call('get_user')], { verdict: 'fallback', detail: { steps: 2 } }],
    ['output_cut', [{ text: ['Half an ans'], finish: 'length' }], { verdict: 'fallback' }],
    ['output_cut', [{ text: [], finish: 'length' }], { verdict: 'fallback' }],
    ['content_filtered', [{ text: ['I '], finish: 'content_filter' }], { verdict: 'fallback' }],
    ['content_filtered', [{ text: [], finish: 'content_filter' }], { verdict: 'fallback' }],
    ['empty_answer', [{ text: [' '] }], { verdict: 'fallback' }],
    [
      'unknown_tool',
      [call('drop_tables'), { text: ['No.'] }],
      { verdict: 'failed', detail: { tool: 'drop_tables' } },
    ],
    [
      'arguments_not_json',
      [call('get_user', '{"email": "secret'), { text: ['No.'] }],
      { verdict: 'failed', detail: { tool: 'get_user' } },
    ],
  ])('%s', async (reason, answers, line) => {
    const ran = await run(answers, { tools: [tool()] });
    expect(ran.lines).toEqual([{ step: 'model', reason, ...line }]);
    expect(adviceFor(reason)?.todo).toBeDefined();
    expect(explained(ran)).not.toContain('Nothing went wrong');
    expect(JSON.stringify(ran.lines)).not.toContain('secret');
  });

  test('with no line if the model answered', async () => {
    const ran = await run([call('get_user'), { text: ['Done.'] }], { tools: [tool()] });
    expect(ran.lines).toEqual([]);
    expect(explained(ran)).toContain('Nothing went wrong');
  });

  test('without the name of an unknown tool if it is not a name, because a model may put anything into it', async () => {
    const { lines } = await run([call('my password is hunter2'), { text: ['No.'] }], { tools: [tool()] });
    expect(lines).toEqual([{ step: 'model', verdict: 'failed', reason: 'unknown_tool' }]);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });
});

describe('the trace names the argument that did not fit, and never its value', () => {
  const parameters = {
    type: 'object',
    properties: { id: { type: 'integer' }, body: { type: 'object', required: ['name'] } },
    additionalProperties: false,
  };
  test.each([
    [{ id: 'hunter2' }, 'id'],
    [{ body: {} }, 'body.name'],
    [{ order: 7 }, 'order'],
    [{ 'my password is hunter2': 7 }, undefined],
    [['hunter2'], undefined],
  ])('%j', async (args, argument) => {
    const { bound, trace } = bindOne(toolOf({ parameters }));
    expect(await bound.call(args)).toMatchObject({ ok: false });
    const detail = { tool: 'look', ...(argument === undefined ? {} : { argument }) };
    expect(trace.lines.filter(({ step }) => step === 'tool')).toMatchObject([
      { verdict: 'failed', reason: 'invalid_arguments', detail },
    ]);
    expect(JSON.stringify(trace.lines)).not.toContain('hunter2');
    expect(explained({ trace })).not.toContain('Nothing went wrong');
  });
});
