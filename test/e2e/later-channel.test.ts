import { mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { command } from '../support/command.ts';
import { readAll, SECRET, startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { effort } from '../support/effort.ts';
import { FakeApi } from '../support/fake-api.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { token } from '../support/tokens.ts';
import { type Answer, post } from '../support/webchat.ts';

const NOTICE = 'Sorry, I couldn’t answer your message. Please try again later.';

let exchange: FakeExchange;
/** The daemon for all tests that need no special settings. */
let shared: DaemonHere;
/** A daemon with one run at a time, which gives up early. */
let impatient: DaemonHere;
let tests = 0;

beforeAll(async () => {
  exchange = await FakeExchange.start();
  shared = await startIn(newDirectory());
  const limits = { AGENT_CONCURRENCY: '1', INBOX_MAX_ATTEMPTS: '2', INBOX_SEND_SECONDS: '2' };
  impatient = await startIn(newDirectory(), limits);
});

beforeEach(() => {
  tests++;
  exchange.forget();
  shared.forget();
  impatient.forget();
});

afterAll(async () => {
  await end(shared);
  await end(impatient);
  await exchange.close();
});

const newDirectory = () => mkdtempSync(join(tmpdir(), 'agentd-later-'));

function startIn(directory: string, env: Record<string, string> = {}): Promise<DaemonHere> {
  return startDaemonHere({ directory, env: { ...exchange.env(directory), ...env } });
}

async function end(daemon: DaemonHere): Promise<void> {
  await daemon.stop();
  await rm(daemon.directory, { recursive: true, force: true });
}

/** Starts a daemon for one test, in a new directory or in the directory of an earlier daemon. */
async function start(env: Record<string, string> = {}, before?: DaemonHere): Promise<DaemonHere> {
  const daemon = await startIn(before?.directory ?? newDirectory(), env);
  onTestFinished(() => end(daemon));
  return daemon;
}

/** Runs a command while a daemon runs. */
function run({ directory }: DaemonHere, ...args: string[]): ReturnType<typeof command> {
  return command(args, { env: { ...exchange.env(directory), STATE_DIR: join(directory, 'state') } });
}

/** Makes the id of a person, thread or message unique to this test. */
function own(name: string): string {
  return `${name}_${tests}`;
}

function textsTo(thread: string): string[] {
  return exchange.textsTo(own(thread));
}

interface Said {
  id?: string;
  user?: string;
  alias?: string;
  thread?: string;
  text: string;
  shared?: boolean;
  metadata?: object;
}

function deliver({ url }: DaemonHere, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return post(url, body, { path: '/telex', headers });
}

function tell(to: DaemonHere, ...messages: Said[]): Promise<Answer> {
  const sent = messages.map(({ id, user = 'u1', alias, thread = 't1', ...said }) => ({
    ...said,
    user: own(user),
    thread: own(thread),
    ...(id === undefined ? {} : { id: own(id) }),
    ...(alias === undefined ? {} : { alias: own(alias) }),
  }));
  return deliver(to, { messages: sent });
}

describe('a message of a channel that answers later', () => {
  it('is answered through the platform, after the 200 response and a typing indicator', async () => {
    const to = shared;
    const answer = await post(
      to.url,
      { messages: [{ id: own('m1'), user: own('u1'), thread: own('t1'), text: ' hello ' }] },
      { path: '/telex', headers: { 'X-Request-Id': 'request-7' } },
    );
    expect(answer.status).toBe(200);
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.taken[0]).toMatchObject({
      to: own('t1'),
      text: 're: hello',
      session_id: `telex:${own('t1')}`,
    });
    expect(exchange.typed).toContain(own('t1'));
    await to.logged((line) => line.msg === 'message answered' && line.request_id === 'request-7');
    // The trace is stored after the reply was sent.
    await expect
      .poll(async () => JSON.parse((await run(to, 'explain', `telex:${own('m1')}`, '--json')).stdout))
      .toMatchObject({
        traces: [{ message_id: own('m1'), request_id: 'request-7', outcome: 'answered' }],
      });
  });

  it('is answered once, however often the platform delivers it, and each repeat is logged', async () => {
    const to = shared;
    for (let n = 0; n < 3; n++)
      expect((await tell(to, { id: 'm1', text: 'hello' }, { id: 'm1', text: 'hello' })).status).toBe(200);
    await tell(to, { id: 'm2', text: 'last' });
    await exchange.until(() => textsTo('t1').includes('re: last'));
    expect(textsTo('t1')).toEqual(['re: hello', 're: last']);
    expect(exchange.runs).toHaveLength(2);
    const repeats = to.log().filter(({ msg }) => String(msg).startsWith('[LoopGuard] DUPLICATE'));
    expect(repeats).toHaveLength(5);
    expect(repeats[0]?.msg).toBe(
      `[LoopGuard] DUPLICATE platform=telex user=${own('u1')} message_id=${own('m1')}`,
    );
  });

  it('is answered in order within its session, while other sessions continue', async () => {
    const to = shared;
    await tell(to, { text: 'wait 300 a1' }, { text: 'a2' }, { text: 'wait 50 a3' }, { text: 'a4' });
    await tell(to, { thread: 't2', text: 'b1' });
    await exchange.until(() => exchange.taken.length === 5);
    expect(textsTo('t1')).toEqual(['re: wait 300 a1', 're: a2', 're: wait 50 a3', 're: a4']);
    expect(exchange.taken[0]?.text).toBe('re: b1');
  });

  it('leaves no token in the inbox, the history or the log, wherever in the message the token was', async () => {
    const to = shared;
    const secret = await token({ sub: 'eve' });
    await tell(to, {
      text: `look:\n${secret}`,
      metadata: { jwt_token: secret, deep: { list: [`\n${secret}`] } },
    });
    await exchange.until(() => exchange.taken.length === 1);
    expect(textsTo('t1')).toEqual(['re: look:\n[token]']);
    await to.logged(({ msg }) => msg === 'message answered');
    const state = join(to.directory, 'state');
    const left = readAll(readdirSync(state).map((name) => join(state, name)));
    expect(left).toContain('[token]');
    expect(left + to.stderr()).not.toContain(secret.split('.')[1]);
  });
});

describe('a message with a run that fails', () => {
  it('gets one notice after the last run, before the next answer, and counts as one turn', async () => {
    const to = impatient;
    await tell(to, { id: 'm1', text: 'fail 9 always' }, { text: 'next' });
    await exchange.until(() => exchange.taken.length === 2);
    expect(textsTo('t1')).toEqual([NOTICE, 're: next']);
    expect(exchange.runs.map(({ text }) => text)).toEqual(['fail 9 always', 'fail 9 always', 'next']);
    const shown = await run(to, 'sessions', 'show', `telex:${own('t1')}`, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      turns: [{ outcome: 'failed', failure: 'agent_failed' }, { outcome: 'answered' }],
    });
  });
});

describe('a reply that the platform does not accept', () => {
  it('waits while the platform is unreachable: one reply at a time is sent as a probe, and after the outage all are sent', async () => {
    exchange.answer = () => ({ status: 503 });
    const to = shared;
    const threads = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await tell(to, ...threads.slice(0, 3).map((thread) => ({ thread, text: thread })));
    await to.logged(({ msg }) => msg === 'the platform cannot be reached; replies wait');
    const health = async () => {
      const { adapters } = (await (await fetch(to.url)).json()) as { adapters: Record<string, object> };
      return adapters.telex;
    };
    // The health check may still use a query of the inbox that began before the outage was stored.
    await expect.poll(health).toEqual({
      status: 'degraded',
      detail: 'the platform cannot be reached; replies wait: delivery_failed: status 503',
    });
    const before = exchange.calls.length;
    await tell(to, ...threads.slice(3).map((thread) => ({ thread, text: thread })));
    await exchange.until(() => exchange.runs.length === threads.length);
    await exchange.until(() => exchange.calls.length === before + 2);
    const listed = await run(to, 'inbox', 'list');
    expect(listed.stdout).toContain('when the platform can be reached, next probe');
    expect(exchange.calls.length - before).toBeLessThan(threads.length - 3);
    exchange.answer = () => ({ status: 200 });
    const { stdout } = await run(to, 'inbox', 'retry', `telex:${own(threads[5] ?? '')}`);
    expect(stdout).toMatch(/: due now\n$/);
    await exchange.until(() => exchange.taken.length === threads.length);
    expect(exchange.taken.map(({ text }) => text).sort()).toEqual(
      threads.map((thread) => `re: ${thread}`).sort(),
    );
    expect(exchange.runs).toHaveLength(threads.length);
    await to.logged(({ msg }) => msg === 'the platform is available again; waiting replies are sent');
    await expect.poll(health).toEqual({ status: 'ok' });
  });
});

describe('links', () => {
  /** A daemon with the builtin agent, which looks up the person for whom a message acts. */
  let withApi: DaemonHere;
  let api: FakeApi;
  beforeAll(async () => {
    api = await FakeApi.start({ secret: SECRET });
    withApi = await startIn(newDirectory(), {
      AGENT_RUNTIME: 'builtin',
      API_BASE_URL: api.url,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: 'service-password',
      TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
  });
  beforeEach(() => {
    api.requests.length = 0;
    withApi.forget();
  });
  afterAll(async () => {
    await end(withApi);
    await api.close();
  });

  const alice = () => token({ sub: 'user-1', email: 'alice@example.com' });

  it("use each member's own token in a shared thread, and no token for a member without a link", async () => {
    const to = withApi;
    const linked = await deliver(to, { link: { user: own('A'), token: await alice() } });
    expect(linked.body).toMatchObject({ linked: true, user_id: 'user-1', email: 'alice@example.com' });
    await deliver(to, {
      link: { user: own('B'), token: await token({ sub: 'user-2', email: 'bob@example.com' }) },
    });
    const ask = (user: string) => ({ user, thread: 'group', text: 'Who am I?', shared: true });
    await tell(to, ask('A'), ask('B'), ask('C'), ask('A'), ask('C'));
    await exchange.until(() => exchange.taken.length === 5);
    expect(api.seen('/users').map(({ sub, query }) => [sub, query.userEmail])).toEqual([
      ['user-1', 'alice@example.com'],
      ['user-2', 'bob@example.com'],
      ['user-1', 'alice@example.com'],
    ]);
    const texts = textsTo('group');
    expect(texts[0]).toContain('Alice');
    expect(texts[1]).toContain('Bob');
    expect(texts[2]).not.toMatch(/Alice|Bob/);
    expect(texts[4]).not.toMatch(/Alice|Bob/);
    // The last sender has no link, so the session of the thread has no token.
    const shown = await run(to, 'sessions', 'show', `telex:${own('group')}`, '--json');
    const { state, metadata, turns } = JSON.parse(shown.stdout);
    expect([state, metadata.jwt_context ?? null]).toEqual(['NoJWT', null]);
    expect(turns.map((turn: { credentials_reason: string }) => turn.credentials_reason)).toEqual([
      'valid_token',
      'valid_token',
      'no_link',
      'valid_token',
      'no_link',
    ]);
  });

  it('are sealed on disk if a key is set', async () => {
    const to = withApi;
    const secret = await alice();
    await deliver(to, { link: { user: own('A'), token: secret } });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(textsTo('t1')[0]).toContain('Alice');
    const state = join(to.directory, 'state');
    const left = readAll(readdirSync(state).map((name) => join(state, name)));
    expect(left).toContain(`telex:jwt:${own('A')}`);
    expect(left).not.toContain(secret.split('.')[1]);
  });
});

describe('when the daemon is stopped or killed', () => {
  it('it finishes current runs, stores the other messages, exits with 0, and answers them after the next start', async () => {
    const to = await start({ AGENT_CONCURRENCY: '1', SHUTDOWN_GRACE_SECONDS: '25' });
    await tell(to, { text: 'wait 300 first' }, { text: 'second' });
    await tell(to, { thread: 't2', text: 'third' });
    await exchange.until(() => exchange.runs.length === 1);
    expect(await to.stop()).toBe(0);
    expect(exchange.taken.map(({ text }) => text)).toEqual(['re: wait 300 first']);
    await start({ AGENT_CONCURRENCY: '1' }, to);
    await exchange.until(() => exchange.taken.length === 3);
    expect(exchange.runs).toHaveLength(3);
  });

  it('it answers each acknowledged message, in order, and a kill repeats at most one per session', async () => {
    const kills = effort(1, 6);
    const acknowledged = new Map<string, string[]>();
    let number = 0;
    let count = 0;
    let killAt = Number.POSITIVE_INFINITY;
    let killNow = () => {};
    let ending = false;
    const directory = newDirectory();
    const startProcess = () => startAgentd({ directory, env: exchange.env(directory) });
    let to = await startProcess();
    onTestFinished(async () => {
      await to.stop('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    });
    let goOn = () => {};
    let started: Promise<void> = Promise.resolve();
    const load = Array.from({ length: 8 }, async (_, thread) => {
      while (!ending) {
        const text = `wait 5 ${++number}`;
        const place = own(`s${thread}`);
        try {
          const { status } = await tell(to, { id: text, thread: `s${thread}`, text });
          if (status !== 200) continue;
          acknowledged.set(place, [...(acknowledged.get(place) ?? []), text]);
          if (++count >= killAt) killNow();
        } catch {
          // The daemon was killed before the acknowledgement. A platform would deliver the message again. This test
          // does not.
          await started;
        }
      }
    });
    for (let kill = 0; kill < kills; kill++) {
      // The daemon is killed after a number of acknowledgements, not after a time, so that a busy machine does not make
      // the test easier.
      await new Promise<void>((resolve) => {
        killAt = count + 10 + Math.floor(Math.random() * 20);
        killNow = resolve;
      });
      started = new Promise((resolve) => {
        goOn = resolve;
      });
      await to.stop('SIGKILL');
      to = await startProcess();
      goOn();
    }
    ending = true;
    await Promise.all(load);
    const wanted = [...acknowledged].flatMap(([place, texts]) =>
      texts.map((text) => ({ place, answer: `re: ${text}` })),
    );
    await exchange.until(() => wanted.every(({ place, answer }) => exchange.textsTo(place).includes(answer)));

    for (const [place, texts] of acknowledged) {
      const firsts = [...new Set(exchange.textsTo(place))].filter((text) => texts.includes(text.slice(4)));
      expect(firsts).toEqual(texts.map((text) => `re: ${text}`));
    }
    // A message that was in progress at a kill may be answered twice: at most one message per session.
    const twice = (texts: string[]) => texts.length - new Set(texts).size;
    expect(wanted.length).toBeGreaterThan(kills * 8);
    expect(twice(exchange.taken.map(({ text }) => text))).toBeLessThanOrEqual(kills * 8);
    expect(twice(exchange.runs.map(({ text }) => text))).toBeLessThanOrEqual(kills * 8);
  });
});
