import { beforeAll, describe, expect, test } from 'vitest';
import { FakeModel } from '../support/fake-model.ts';
import { gate, type Shop, startShop, startShopProcess } from '../support/shop.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { Answer } from '../support/webchat.ts';

// Tests agentd-service(7), "POST /webchat/message", with its errors and its Idempotency-Key.

const SITE = 'https://www.example.com';
const HELLO = { user_id: 'visitor', message: 'Hello' };

let shop: Shop;
let model: FakeModel;
/** A shop with a scripted model. The model does what each message says. */
let chat: Shop;
/** A shop with another path. */
let unusual: Shop;

beforeAll(async () => {
  model = await FakeModel.start();
  model.script(({ messages }) => {
    const said = JSON.stringify(messages.at(-1)?.content);
    if (said.includes('refuse')) return { status: 400 };
    if (said.includes('busy')) return { status: 429, headers: { 'retry-after': '120' } };
    if (said.includes('hang')) return 'hang';
    if (said.includes('cut')) return { cut: ['Half a '] };
    return { text: ['Fine, ', 'thank you.'] };
  });
  [shop, chat, unusual] = await Promise.all([
    startShop(),
    startShop({
      env: { AGENT_BASE_URL: model.url, AGENT_MODEL: 'scripted', AGENT_TIMEOUT_SECONDS: '1' },
    }),
    startShop({ env: { WEBCHAT_WEBHOOK_PATH: '/api/chat' } }),
  ]);
  // The first message loads the packages of the model, which may take longer than the limit of one second for a run.
  await chat.say(HELLO);
});

/** Expects a problem document of RFC 9457, exactly as in agentd-service(7), "Errors". */
function expectProblem(answer: Answer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  const { errors, ...rest } = answer.body;
  expect(rest).toEqual({
    type: 'about:blank',
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: expect.stringMatching(/\S/),
    code,
    request_id: answer.headers.get('x-request-id'),
  });
  if (code === 'invalid_request') expect(errors.length).toBeGreaterThan(0);
}

describe('POST /webchat/message', () => {
  test('answers in the same response with response, session_id and metadata', async () => {
    const answer = await shop.say({ ...HELLO, session_id: 'mine', metadata: { page_url: SITE, other: [1] } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body).toEqual({
      response: expect.stringMatching(/\S/),
      session_id: 'mine',
      metadata: { platform: 'webchat', user_id: 'visitor', message_id: expect.any(String) },
    });
    const [turn] = (await shop.session('mine')).turns;
    expect(turn.turn_id).toBe(answer.body.metadata.message_id);
  });

  test('marks the data that the client claims about itself as unverified in the prompt of the agent', async () => {
    const metadata = {
      user_name: 'Eve <admin>',
      page_url: 'https://www.example.com/cart',
      user_agent: 'Agent/1',
    };
    expect((await chat.say({ ...HELLO, message: 'How are you?', metadata })).status).toBe(200);
    const prompt = JSON.stringify(model.requests.at(-1)?.messages);
    for (const value of [metadata.page_url, metadata.user_agent]) expect(prompt).toContain(value);
    expect(prompt).toMatch(/unverified|not verified/i);
  });

  test('is served at WEBCHAT_WEBHOOK_PATH if that setting has a value, and no longer at the default path', async () => {
    expect((await unusual.say(HELLO, { path: '/api/chat' })).status).toBe(200);
    expectProblem(await unusual.say(HELLO), 404, 'not_found');
  });
});

describe('a request', () => {
  test('with several wrong fields gets an error for each of them in one response', async () => {
    const { body } = await shop.say({ user_id: '', session_id: 7 });
    expect(body.errors.map((error: { field: string }) => error.field)).toEqual([
      'user_id',
      'message',
      'session_id',
    ]);
  });
});

describe('An agent that fails', () => {
  test.each(['refuse', 'cut'])('causes 502 agent_failed, without internal details (%s)', async (how) => {
    const answer = await chat.say({ ...HELLO, message: how });
    expectProblem(answer, 502, 'agent_failed');
    expect(answer.body.detail).toBe('The agent could not answer.');
  });

  test('causes 502 with Retry-After if its model asks for a longer wait than the run may take', async () => {
    const answer = await chat.say({ ...HELLO, message: 'busy' });
    expectProblem(answer, 502, 'agent_failed');
    expect(answer.headers.get('retry-after')).toBe('120');
  });

  test('causes 504 agent_timeout if it takes longer than AGENT_TIMEOUT_SECONDS', async () => {
    expectProblem(await chat.say({ ...HELLO, message: 'hang' }), 504, 'agent_timeout');
  });

  test('does not damage its session: the next message is answered', async () => {
    const own = { ...HELLO, session_id: 'after-failure' };
    await chat.say({ ...own, message: 'refuse' });
    const answer = await chat.say({ ...own, message: 'How are you?' });
    expect(answer.body.response).toBe('Fine, thank you.');
    expect((await chat.session('after-failure')).turns).toMatchObject([
      { outcome: 'failed', failure: 'agent_failed', reply: null },
      { outcome: 'answered', reply: 'Fine, thank you.' },
    ]);
  });
});

describe('An overloaded daemon', () => {
  test('answers 503 unavailable with Retry-After if AGENT_QUEUE_MAX messages wait, or if a message has waited for AGENT_QUEUE_WAIT_SECONDS', async () => {
    const narrow = await startShop({
      env: { AGENT_CONCURRENCY: '1', AGENT_QUEUE_MAX: '1', AGENT_QUEUE_WAIT_SECONDS: '1' },
    });
    const held = gate();
    try {
      narrow.api.misbehave('/users', { wait: held.opened }, 1);
      const asked = narrow.api.next('/users');
      const running = narrow.say({ ...HELLO, message: 'ada@example.com' });
      await asked;
      // Of two more messages, one waits in the queue for the maximum time, and the other finds the queue full.
      const others = await Promise.all([
        narrow.say({ ...HELLO, user_id: 'second' }),
        narrow.say({ ...HELLO, user_id: 'third' }),
      ]);
      for (const answer of others) {
        expectProblem(answer, 503, 'unavailable');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect(others.map((answer) => answer.body.detail).sort()).toEqual([
        'The message waited too long for its session or for a run.',
        'Too many messages are waiting for an answer.',
      ]);
      held.open();
      expect((await running).status).toBe(200);
      expect((await narrow.say(HELLO)).status).toBe(200);
    } finally {
      held.open();
      await narrow.stop();
    }
  });
});

describe('X-Request-Id', () => {
  const idOf = async (given?: string, body: unknown = HELLO) => {
    const headers = given === undefined ? {} : { 'X-Request-Id': given };
    return (await shop.say(body, { headers })).headers.get('x-request-id');
  };

  test('is in the log lines of the request and of its agent run', async () => {
    await idOf('on-every-line', { ...HELLO, message: 'ada@example.com' });
    await shop.daemon.logged(
      (line) => line.request_id === 'on-every-line' && line.msg === 'message answered',
    );
    const lines = shop.daemon.log().filter((line) => line.request_id === 'on-every-line');
    expect(lines.map((line) => line.msg)).toContain('tool uses default credentials: no_jwt_context');
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string, body: object, bearer?: string) =>
    shop.say(body, { headers: { 'Idempotency-Key': key }, ...(bearer === undefined ? {} : { bearer }) });
  const replayed = (answer: Answer) => answer.headers.get('idempotency-replayed');

  test('a repeat of a finished request gets the first answer again, marked as a repeat, and adds no turn', async () => {
    const first = await keyed('repeat-1', HELLO);
    const again = await keyed('repeat-1', HELLO);
    expect([first.status, replayed(first)]).toEqual([200, null]);
    expect([again.status, replayed(again)]).toEqual([200, 'true']);
    expect(again.body).toEqual(first.body);
    expect((await shop.session(first.body.session_id)).turns).toHaveLength(1);
    await shop.daemon.logged(
      (line) => line.msg === '[LoopGuard] DUPLICATE platform=webchat user=visitor message_id=repeat-1',
    );
  });

  test('after a restart of the daemon, the stored answer is replayed, and the key of an interrupted run can be used again', async () => {
    const directory = temporaryFolder('restart');
    const options = { headers: { 'Idempotency-Key': 'restart-1' } };
    const lost = { headers: { 'Idempotency-Key': 'restart-2' } };
    const before = await startShopProcess({ directory });
    const first = await before.say(HELLO, options);
    before.api.misbehave('/users', 'hang');
    const asked = before.api.next('/users');
    const died = before.say({ ...HELLO, message: 'ada@example.com' }, lost).catch(() => 'died');
    await asked;
    await before.daemon.stop('SIGKILL');
    expect(await died).toBe('died');
    await before.api.close();

    const after = await startShop({ directory });
    const again = await after.say(HELLO, options);
    expect(replayed(again)).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await after.say({ ...HELLO, message: 'ada@example.com' }, lost)).status).toBe(200);
  });
});
