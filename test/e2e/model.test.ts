import { beforeAll, describe, expect, test } from 'vitest';
import { FakeModel } from '../support/fake-model.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-agent(7), "Model", as people and operators see it.

const USAGE = { prompt_tokens: 200, completion_tokens: 100 };
const DAILY = 2000;
const USED_UP = 'I can’t answer now, because I’ve reached my limit for one person in a day.';

let model: FakeModel;
let shop: Shop;

beforeAll(async () => {
  model = await FakeModel.start();
  model.script(({ messages }) => {
    const isSummary = String(messages[0]?.content).startsWith('You sum up');
    return { text: [isSummary ? 'They greeted.' : 'Hello. '.repeat(100)], usage: USAGE };
  });
  shop = await startShop({
    env: {
      SSE_ENABLED: 'true',
      AGENT_MODEL: 'scripted',
      AGENT_BASE_URL: model.url,
      AGENT_FALLBACK_MODEL: 'builtin',
      AGENT_MAX_OUTPUT_TOKENS: '200',
      AGENT_HISTORY_TOKENS: '250',
      AGENT_DAILY_TOKENS: String(DAILY),
    },
  });
});

const explain = async (id: string) => (await shop.run('explain', id)).stdout;

describe('the model', () => {
  test('`explain` shows the token usage of each call, and `sessions show` shows it for each turn', async () => {
    const { body } = await shop.say(
      { user_id: 'reader', message: 'Hi' },
      { bearer: await token({ sub: 'r' }) },
    );
    const explained = await explain(body.session_id);
    expect(explained).toMatch(/ model +ok .*model=scripted input_tokens=200 output_tokens=100/);
    const shown = await shop.run('sessions', 'show', body.session_id);
    expect(shown.stdout).toContain('200 tokens in, 100 out');
    const { turns } = JSON.parse((await shop.run('sessions', 'show', body.session_id, '--json')).stdout);
    expect(turns[0].usage).toEqual({ input_tokens: 200, output_tokens: 100 });
  });

  test('messages that no longer fit into the history are summarized after the reply, and the next run gets the summary', async () => {
    const bearer = await token({ sub: 'talker' });
    const say = (message: string) => shop.say({ user_id: 'talker', session_id: 'talk', message }, { bearer });
    await say('One');
    await say('Two');
    const summary = 'The beginning of this conversation, summed up.';
    await expect.poll(async () => explain('talk')).toContain(' summarize ');
    await say('Three');
    const asked = model.requests.find(({ messages }) => messages.at(-1)?.content === 'Three');
    expect(asked?.messages[0]?.content).toContain(summary);
    expect(asked?.messages[0]?.content).toContain('"They greeted."');
  });

  test('AGENT_DAILY_TOKENS limits a person across all channels, and the reply says so when the limit is reached', async () => {
    const bearer = await token({ sub: 'spender' });
    const say = (path?: string) =>
      shop.say({ user_id: 'spender', message: 'Hi' }, { bearer, ...(path === undefined ? {} : { path }) });
    let replies = 0;
    for (; replies < 10; replies++) if (!(await say()).body.response.startsWith('Hello.')) break;
    expect(replies).toBeGreaterThan(2);
    expect(replies * 300).toBeLessThanOrEqual(DAILY);
    const { status, body } = await say();
    expect([status, body.response]).toEqual([
      200,
      expect.stringMatching(new RegExp(`^${USED_UP} Please try`)),
    ]);
    expect(await explain(body.session_id)).toContain('budget_exhausted');
    const started = await say('/sse/chat');
    const stream = await fetch(`${shop.daemon.url}/sse/stream/${started.body.stream_id}`);
    expect(await stream.text()).toContain(USED_UP);
    // A client without the token is not affected, even with the same `user_id`.
    expect((await shop.say({ user_id: 'spender', message: 'Hi' })).body.response).toMatch(/^Hello\./);
  });
});
