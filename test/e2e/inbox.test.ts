import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests `agentd inbox`, and `agentd explain` for a message of a platform, while the daemon runs and while it does not.

const directory = temporaryFolder('inbox');
let exchange: FakeExchange;
/** The daemon of all tests. */
let daemon: DaemonHere;
let tests = 0;

const start = () =>
  startDaemonHere({ directory, env: { ...exchange.env(directory), INBOX_MAX_ATTEMPTS: '2' } });

beforeAll(async () => {
  exchange = await FakeExchange.start();
  daemon = await start();
});

beforeEach(() => {
  tests++;
  exchange.forget();
  daemon.forget();
});

/** Leaves an empty inbox for the next test. */
afterEach(async () => {
  for (const { id } of await printed<{ id: string }[]>('inbox', 'list')) await run('inbox', 'discard', id);
});

/** Makes the id of a message, thread or request unique to this test. */
const own = (name: string) => `${name}_${tests}`;

const run = (...args: string[]) =>
  command(args, { env: { ...exchange.env(directory), STATE_DIR: join(directory, 'state') } });

async function printed<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { stdout } = await run(...args, '--json');
  return JSON.parse(stdout) as T;
}

/** Sends messages in the thread `t1`, with the request id `r1`. */
async function tell(...messages: { id: string; text: string }[]): Promise<void> {
  const said = messages.map(({ id, text }) => ({ id: own(id), user: 'u1', thread: own('t1'), text }));
  const headers = { 'X-Request-Id': own('r1') };
  const { status } = await post(daemon.url, { messages: said }, { path: '/telex', headers });
  expect(status).toBe(200);
}

const textsTo = (thread: string) => exchange.textsTo(own(thread));

/** The time between two polls, in ms. It is long, because each poll runs a command. */
const LOOKING = { interval: 200 };

const failedWith = (words: string) => daemon.logged(({ failure }) => String(failure).startsWith(words));

describe('agentd inbox', () => {
  it('shows a permanently refused reply, and sends it again on request, without another run', async () => {
    exchange.answer = () => ({ status: 403 });
    const secret = await token();
    await tell({ id: 'm1', text: `hello ${secret}` });
    await failedWith('delivery_refused');

    const [listed] = await printed<Record<string, unknown>[]>('inbox', 'list', '--failed');
    expect(listed).toMatchObject({
      platform: 'telex',
      user_id: 'u1',
      session_id: `telex:${own('t1')}`,
      message_id: own('m1'),
      request_id: own('r1'),
      state: 'failed',
      attempts: 1,
      sends: 1,
      failure: 'delivery_refused: status 403',
      next_attempt_at: null,
    });
    expect(listed).not.toHaveProperty('text');
    const table = await run('inbox', 'list');
    // A program finds the same columns each time, although no message has a next attempt.
    expect(table.stdout).toMatch(
      /^ID +CHANNEL +PERSON +USER +STATE +RECEIVED +ATTEMPTS +NEXT +LAST FAILURE\n/,
    );
    expect(table.stdout).toMatch(
      / telex +u1 +failed, its reply was not sent +\d{4}-\S+ +1 run, 1 send +delivery_refused: status 403\n/,
    );

    const shown = await run('inbox', 'show', `telex:${own('m1')}`);
    expect(shown.stdout).toMatch(
      /^message +\S+\nstate +failed, its reply was not sent\nchannel +telex\nuser +u1\n/,
    );
    expect(shown.stdout).toContain('\ntext:\n  hello [token]\n\nreply, not sent:\n  re: hello [token]\n');
    expect(shown.stdout).toMatch(/\nwhat to do +Read the platform's message/);
    expect(shown.stdout).not.toContain(secret.split('.')[1]);
    expect(await printed('inbox', 'show', own('m1'))).toMatchObject({ ...listed, text: 'hello [token]' });

    exchange.answer = () => ({ status: 200 });
    expect((await run('inbox', 'retry', own('m1'))).stdout).toBe(`${listed?.id}: its reply is sent again\n`);
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.runs).toHaveLength(1);
    await expect.poll(async () => (await run('inbox', 'list')).stdout, LOOKING).toBe('');
    const again = await run('inbox', 'retry', own('m1'));
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(`the message ${listed?.id} was answered`);
  });

  it('retries a waiting message at once', async () => {
    exchange.answer = () => ({ status: 429, retryAfter: 3000 });
    await tell({ id: 'm1', text: 'hello' }, { id: 'm2', text: 'behind it' });
    await failedWith('delivery_failed');
    const list = () => run('inbox', 'list', '--limit', '2');
    await expect
      .poll(async () => (await list()).stdout.split('\n')[2], LOOKING)
      .toMatch(
        / reply is waiting to be sent +\S+ +1 run, 1 send +in 49 minutes +delivery_failed: status 429$/,
      );
    const { stdout, stderr } = await list();
    expect(stderr).toBe('');
    const [, behind] = stdout.split('\n');
    expect(behind).toMatch(/ waits for its turn +\S+ +after the previous message$/);
    const one = await run('inbox', 'list', '--limit', '1', '--json');
    expect(JSON.parse(one.stdout)).toMatchObject([{ message_id: own('m2') }]);
    expect(one.stderr).toBe('Only the first is shown; --limit shows more.\n');
    exchange.answer = () => ({ status: 200 });
    expect((await run('inbox', 'retry', own('m1'))).stdout).toMatch(/: due now\n$/);
    await exchange.until(() => textsTo('t1').length === 2);
    expect(textsTo('t1')).toEqual(['re: hello', 're: behind it']);
  });

  it('starts a failed message again, and lists the matching messages if an id is ambiguous', async () => {
    await tell({ id: 'm1', text: 'fail 2 a' }, { id: 'm2', text: 'fail 2 b' });
    await exchange.until(() => exchange.taken.length === 2);
    await expect
      .poll(async () => (await printed<object[]>('inbox', 'list', '--failed')).length, LOOKING)
      .toBe(2);
    expect((await run('inbox', 'list')).stdout).toContain('failed, the person was notified');
    const [second, first] = await printed<{ id: string }[]>('inbox', 'list', '--failed');
    const both = await run('inbox', 'retry', own('r1'));
    expect(both.code).toBe(1);
    expect(both.stderr).toContain(`'${own('r1')}' matches 2 messages of the inbox`);
    expect(both.stderr).toContain(`${second?.id}, ${first?.id}.`);
    expect((await run('inbox', 'retry', first?.id ?? '')).stdout).toBe(`${first?.id}: starts again\n`);
    await exchange.until(() => exchange.taken.length === 3);
    expect(exchange.taken.at(-1)?.text).toBe('re: fail 2 a');
  });

  it('starts all failed messages again; --channel and --since restrict this to one channel or a period', async () => {
    exchange.answer = () => ({ status: 403 });
    await tell({ id: 'm1', text: 'one' }, { id: 'm2', text: 'two' });
    await expect
      .poll(async () => (await printed<object[]>('inbox', 'list', '--failed')).length, LOOKING)
      .toBe(2);
    exchange.answer = () => ({ status: 200 });
    const none = await run('inbox', 'retry', '--failed', '--channel', 'webchat');
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No failed message matches.\n' });
    expect(await printed('inbox', 'retry', '--failed', '--since', '2030-01-01')).toEqual({
      retried: 0,
      ids: [],
    });
    expect((await run('inbox', 'retry', '--failed', '--since', '1h')).stdout).toBe(
      '2 messages start again\n',
    );
    await exchange.until(() => exchange.taken.length === 2);
    expect(textsTo('t1')).toEqual(['re: one', 're: two']);
    expect(exchange.runs).toHaveLength(2);
  });

  it.each([
    [['retry'], 'give the id of a message, or --failed for all failed messages'],
    [['retry', '--failed', 'm1'], '--failed retries all failed messages; it takes no id'],
    [['retry', 'm1', '--since', '2h'], '--since and --channel need --failed'],
    [
      ['retry', '--failed', '--since', 'soon'],
      "--since takes 30s, 10m, 2h, 7d or an ISO 8601 time, not 'soon'",
    ],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await run('inbox', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  it('shows why the run failed, and why the person could not be notified', async () => {
    exchange.answer = () => ({ status: 403 });
    await tell({ id: 'm1', text: 'fail 9' });
    await failedWith('delivery_refused');
    await expect.poll(async () => (await printed('inbox', 'show', own('m1'))).state, LOOKING).toBe('failed');
    expect(await printed('inbox', 'show', own('m1'))).toMatchObject({
      failure: 'agent_failed',
      notice_failure: 'delivery_refused: status 403',
      reply: null,
      notice: expect.stringContaining('Sorry'),
    });
    const { stdout } = await run('inbox', 'show', own('m1'));
    expect(stdout).toMatch(/^state +failed, the person could not be notified$/m);
    expect(stdout).toMatch(/^last failure +agent_failed$/m);
    expect(stdout).toMatch(/^notice failure +delivery_refused: status 403$/m);
  });
});

interface Explained {
  traces: {
    outcome: string;
    took_ms: number;
    lines: { step: string; verdict: string; reason?: string; detail?: Record<string, unknown> }[];
  }[];
}

/**
 * Waits until the message has this outcome, and returns what `agentd explain` prints. The trace is stored only after
 * the reply was sent.
 */
async function explainedWhen(message: string, outcome: string): Promise<Explained> {
  await expect
    .poll(async () => (await printed<Explained>('explain', message)).traces[0]?.outcome, LOOKING)
    .toBe(outcome);
  return printed<Explained>('explain', message);
}

describe('agentd explain for a message that is answered later', () => {
  it('shows when it was accepted, and that its reply was sent', async () => {
    await tell({ id: 'm1', text: 'hello' });
    await exchange.until(() => exchange.taken.length === 1);
    const { traces } = await explainedWhen(`telex:${own('m1')}`, 'answered');
    expect(traces).toHaveLength(1);
    const lines = traces[0]?.lines ?? [];
    expect(lines[0]).toMatchObject({ step: 'accept', detail: { waited_ms: expect.any(Number) } });
    expect(lines.at(-1)).toMatchObject({ step: 'send-reply', reason: 'sent', detail: { runs: 1, sends: 1 } });
    expect((await run('explain', own('m1'))).stdout).toMatch(/\n\S+ +send-reply +ok +sent +runs=1 sends=1\n/);
  });

  it('shows all attempts in one timeline', async () => {
    let calls = 0;
    exchange.answer = () => ({ status: ++calls === 1 ? 503 : 200 });
    await tell({ id: 'm1', text: 'fail 1' });
    await exchange.until(() => exchange.taken.length === 1);
    const { traces } = await explainedWhen(own('m1'), 'answered');
    expect(traces).toHaveLength(1);
    const lines = traces[0]?.lines ?? [];
    expect(lines.filter(({ step }) => step === 'run-agent').map(({ verdict }) => verdict)).toEqual([
      'failed',
      'ok',
    ]);
    expect(lines.filter(({ step }) => step === 'send-reply').map(({ reason }) => reason)).toEqual([
      'delivery_failed',
      'sent',
    ]);
  });

  it('ends with the reason for the permanent failure', async () => {
    await tell({ id: 'm1', text: 'fail 9' });
    await exchange.until(() => exchange.taken.length === 1);
    await expect
      .poll(async () => (await printed<Explained>('explain', own('m1'))).traces[0]?.lines.at(-1), LOOKING)
      .toMatchObject({ step: 'end', verdict: 'failed', reason: 'agent_failed', detail: { notice: true } });
  });
});
