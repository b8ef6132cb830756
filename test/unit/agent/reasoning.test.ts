import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLlm } from '../../../src/daemon/agent/llm/llm.ts';
import { agentTurn, fakeTool, replyOf } from '../../support/agent-turn.ts';
import { FakeModel, type ModelAnswer } from '../../support/fake-model.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';

let model: FakeModel;
beforeAll(async () => {
  model = await FakeModel.start();
});
afterAll(() => model.close());

const createRuntime = () =>
  createLlm(llmSettings({ AGENT_MODEL: 'm', AGENT_BASE_URL: model.url }), collectLog().log);

async function reply(...answers: ModelAnswer[]): Promise<string> {
  model.script(answers);
  const tools = [fakeTool({ ok: true, result: {} })];
  return (await replyOf((await createRuntime()).run(agentTurn({ tools })))).trim();
}

const EMPTY = 'I have no answer to that. Please put it in other words.';

describe('the reasoning of a model does not reach people', () => {
  test.each<[string, readonly string[], string]>([
    ['in one chunk', ['<think>The card number is 7.</think>\n\nHello.'], 'Hello.'],
    ['in the other tag', ['<thinking>secret</thinking>Hello.'], 'Hello.'],
    ['split over chunks', ['<', 'thi', 'nk>sec', 'ret</th', 'ink', '>', 'Hel', 'lo.'], 'Hello.'],
    ['in the other tag, split over chunks', ['<think', 'ing>secret</think', 'ing>Hello.'], 'Hello.'],
    ['one character at a time', [...'<think>secret</think>Hello.'], 'Hello.'],
    ['twice', ['<think>secret</think>Hello, <think>secret</think>Ada.'], 'Hello, \nAda.'],
    ['both tags', ['<think>secret</think>Hello, <thinking>secret</thinking>Ada.'], 'Hello, \nAda.'],
    ['unclosed', ['<think>secret, ', 'and no end'], EMPTY],
    ['unclosed, with half of the closing tag', ['<think>secret</thi'], EMPTY],
    ['unclosed after words', ['Hello. <think>secret'], 'Hello.'],
    [
      'in a tag that only looks like one',
      ['a < b, <thin and <thinker> stay'],
      'a < b, <thin and <thinker> stay',
    ],
  ])('%s', async (_case, text, expected) => {
    expect(await reply({ text })).toBe(expected);
  });

  test('in each step of a run', async () => {
    const tools = [{ name: 'get_user', args: {} }];
    expect(
      await reply(
        { text: ['<think>secret</think>Let me look.'], tools },
        { text: ['<think>secret</think>', 'Done.'] },
      ),
    ).toBe('Let me look.\n\nDone.');
  });

  test('if the server sends the whole completion at once', async () => {
    const message = { role: 'assistant', content: '<think>secret</think>Hello.' };
    const body = {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    };
    expect(await reply({ status: 200, body })).toBe('Hello.');
  });

  test('nor a summary', async () => {
    model.script([{ text: ['<think>sec', 'ret</think>They want tea.'] }]);
    const { meter, signal, deadline, log } = agentTurn();
    const request = { summary: null, exchanges: [{ user: 'Tea', speaker: 'u', reply: 'Yes' }] };
    const summary = (await createRuntime()).summarize?.({
      ...{ ...request, max_characters: 100, meter, signal, deadline, log },
    });
    expect(await summary).toBe('They want tea.');
  });
});
