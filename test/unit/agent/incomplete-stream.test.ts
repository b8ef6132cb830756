import { simulateReadableStream } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { beforeEach, expect, it, vi } from 'vitest';
import { createLlm } from '../../../src/daemon/agent/llm/llm.ts';
import { loadModels } from '../../../src/daemon/agent/llm/model.ts';
import { agentTurn, fakeTool, replyOf } from '../../support/agent-turn.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';

// The model is a stand-in for a provider package that reports an incomplete stream differently from an
// OpenAI-compatible server. The tests for OpenAI-compatible servers are in llm.test.ts.
vi.mock('../../../src/daemon/agent/llm/model.ts', async (load) => ({
  ...(await load<object>()),
  loadModels: vi.fn(),
}));

type Streamed = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

const TEXT: StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Half a ' },
  { type: 'text-end', id: '1' },
];
const CALL: StreamPart[] = [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'get_user', input: '{}' }];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = (raw: string | undefined): StreamPart => ({
  type: 'finish',
  finishReason: { unified: 'other', raw },
  usage,
});

let parts: StreamPart[];
beforeEach(() => {
  const doStream = async () => ({ stream: simulateReadableStream({ chunks: parts }) });
  vi.mocked(loadModels).mockResolvedValue({
    ...{ first: new MockLanguageModelV4({ doStream }), fallback: null, keys: [] },
  });
});

async function reply(): Promise<string> {
  const { log } = collectLog();
  const settings = llmSettings({ AGENT_MODEL: 'fake:model', AGENT_MAX_STEPS: 2 });
  const tools = [fakeTool({ ok: true, result: {} })];
  return replyOf((await createLlm(settings, log)).run(agentTurn({ log, tools })));
}

it.each([
  ['that ends after some words', TEXT],
  ['that reports an end without a reason', [...TEXT, finish(undefined)]],
  ['that ends after a tool call', [...TEXT, ...CALL]],
])('after an answer %s, the run fails, so that it can be repeated', async (_what, chunks) => {
  parts = chunks;
  await expect(reply()).rejects.toMatchObject({ reason: 'model_broken_stream' });
});

it('an answer that ended for a provider-specific reason is used as the reply', async () => {
  parts = [...TEXT, finish('eos_token')];
  expect(await reply()).toBe('Half a ');
});
