import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, readAll, SECRET, startAgentd } from '../support/daemon.ts';
import { FakeApi } from '../support/fake-api.ts';
import { FakeModel } from '../support/fake-model.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-agent(7), "History": the results of tools in later runs, sealed in the store, and erased with the person.

const CANARY = 'canary-balance-4711';
let directory: string;
let model: FakeModel;
let api: FakeApi;
let daemon: Agentd;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-past-calls-'));
  model = await FakeModel.start();
  api = await FakeApi.start({ secret: SECRET, find: () => ({ email: 'ada@example.com', balance: CANARY }) });
  const env = { AGENT_BASE_URL: model.url, AGENT_MODEL: 'fake', API_BASE_URL: api.url };
  daemon = await startAgentd({ directory, env });
});
afterAll(async () => {
  await daemon.stop();
  await Promise.all([model.close(), api.close()]);
  await rm(directory, { recursive: true });
});
beforeEach(() => {
  model.script(({ messages }) =>
    messages.at(-1)?.content === 'Look'
      ? { tools: [{ name: 'get_user', args: { email: 'ada@example.com' } }] }
      : { text: ['I have looked.'] },
  );
});

async function say(message: string, session_id: string, sub?: string): Promise<void> {
  const bearer = sub === undefined ? {} : { bearer: await token({ sub }) };
  const answer = await post(daemon.url, { user_id: 'visitor', message, session_id }, bearer);
  expect(answer.status).toBe(200);
}
const lastMessages = () => model.requests.at(-1)?.messages.slice(1);
const stored = () => readAll(['agentd.db', 'agentd.db-wal'].map((name) => join(directory, 'state', name)));
const cli = (...args: string[]) => command(args, { cwd: directory });

describe('the results of tools of an earlier message', () => {
  test('are given to the model again, as the messages in which it got them', async () => {
    await say('Look', 's1', 'ada');
    await say('And?', 's1', 'ada');
    expect(lastMessages()).toMatchObject([
      { role: 'user', content: 'Look' },
      { role: 'assistant', tool_calls: [{ id: 'past00001', function: { name: 'get_user' } }] },
      { role: 'tool', tool_call_id: 'past00001', content: expect.stringContaining(CANARY) },
      { role: 'assistant', content: 'I have looked.' },
      { role: 'user', content: 'And?' },
    ]);
  });

  test('are not given to somebody who is not signed in', async () => {
    await say('Look', 's2', 'ada');
    await say('And?', 's2');
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain(CANARY);
  });

  test('are sealed in the store, shown with the person, and erased with the person', async () => {
    await say('Look', 's3', 'eve');
    expect(stored()).not.toContain(CANARY);
    const shown = await cli('person', 'show', '--sub', 'eve');
    const [session] = (JSON.parse(shown.stdout) as { sessions: { turns: object[] }[] }).sessions;
    expect(session?.turns).toMatchObject([
      { calls: [{ tool: 'get_user', args: { email: 'ada@example.com' } }] },
    ]);
    expect(shown.stdout).toContain(CANARY);
    const inSession = await cli('sessions', 'show', 's3', '--json');
    expect(inSession.stdout).not.toMatch(/sealed\.v1|"calls/);
    expect((await cli('person', 'erase', '--sub', 'eve', '--yes')).code).toBe(0);
    await say('And?', 's3', 'eve');
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain(CANARY);
  });
});
