import { mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, readAll, SECRET, startAgentd } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { FakeApi } from '../support/fake-api.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { lapsed, token } from '../support/tokens.ts';
import { type Answer, post } from '../support/webchat.ts';

const NOTICE = 'Sorry, I could not answer your message. Please try again later.';

let exchange: FakeExchange;
/** The daemon for all tests that need no special settings. */
let shared: Agentd;
/** A daemon with one run at a time, which gives up early. */
let impatient: Agentd;
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

function startIn(directory: string, env: Record<string, string> = {}): Promise<Agentd> {
  return startAgentd({ directory, env: { ...exchange.env(directory), ...env } });
}

async function end(daemon: Agentd): Promise<void> {
  await daemon.stop('SIGKILL');
  await rm(daemon.directory, { recursive: true, force: true });
}

/** Starts a daemon for one test, in a new directory or in the directory of an earlier daemon. */
async function start(env: Record<string, string> = {}, before?: Agentd): Promise<Agentd> {
  const daemon = await startIn(before?.directory ?? newDirectory(), env);
  onTestFinished(() => end(daemon));
  return daemon;
}

/** Runs a command while a daemon runs. */
function run({ directory }: Agentd, ...args: string[]): ReturnType<typeof command> {
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

function deliver({ url }: Agentd, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return post(url, body, { path: '/telex', headers });
}

function tell(to: Agentd, ...messages: Said[]): Promise<Answer> {
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

  it('is refused with its whole delivery if one message of the delivery is invalid', async () => {
    const to = shared;
    const answer = await tell(to, { text: 'good' }, { text: '  ' }, { user: 'a\u0007b', text: 'x' });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      errors: [
        { field: 'messages[1].text', message: 'must not be empty' },
        { field: 'messages[2].user_id', message: 'must not contain control characters' },
      ],
    });
    const halfPair = await deliver(
      to,
      JSON.parse('{"messages":[{"user":"u","thread":"\\ud800","text":"x"}]}'),
    );
    expect(halfPair.body.errors[0]).toEqual({
      field: 'messages[0].channel_id',
      message: 'must be well-formed Unicode',
    });
    await tell(to, { text: 'after' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(textsTo('t1')).toEqual(['re: after']);
  });

  it('can be edited until its turn begins', async () => {
    const to = shared;
    await tell(to, { id: 'm1', text: 'wait 300 first' }, { id: 'm2', text: 'secnd' });
    await exchange.until(() => exchange.runs.length === 1);
    const change = async (id: string, text: string, user = 'u1', thread = 't1') => {
      const edited = { id: own(id), user: own(user), thread: own(thread), text };
      return (await deliver(to, { edited })).body;
    };
    expect(await change('m1', 'too late')).toEqual({ edited: false });
    expect(await change('m2', 'second')).toEqual({ edited: true });
    expect(await change('m2', 'of another user', 'u2')).toEqual({ edited: false });
    expect(await change('m2', 'of another thread', 'u1', 't2')).toEqual({ edited: false });
    await exchange.until(() => exchange.taken.length === 2);
    expect(textsTo('t1')).toEqual(['re: wait 300 first', 're: second']);
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

describe('a text that the channel itself sends', () => {
  it('is delivered at once, in order and without a run, even while no other run can start', async () => {
    const to = impatient;
    await tell(to, { text: 'wait 500 slow' });
    await exchange.until(() => exchange.runs.length === 1);
    for (const text of ['one', 'two', 'three'])
      expect((await deliver(to, { say: { to: own('t1'), text } })).status).toBe(200);
    await exchange.until(() => exchange.taken.length === 4);
    expect(textsTo('t1')).toEqual(['one', 'two', 'three', 're: wait 500 slow']);
    expect(exchange.taken[0]?.session_id).toBeNull();
    expect(exchange.runs).toHaveLength(1);
  });
});

describe('a message with a run that fails', () => {
  it('is retried, and answered once when a run succeeds', async () => {
    const to = shared;
    await tell(to, { text: 'fail 1 then good' }, { text: 'next' });
    await exchange.until(() => exchange.taken.length === 2);
    expect(textsTo('t1')).toEqual(['re: fail 1 then good', 're: next']);
    expect(exchange.runs.map(({ text }) => text)).toEqual(['fail 1 then good', 'fail 1 then good', 'next']);
  });

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

  it('gets no second notice if the notice is refused', async () => {
    exchange.answer = ({ text }) => ({ status: text === NOTICE ? 400 : 200 });
    const to = impatient;
    await tell(to, { text: 'fail 9 for good' }, { text: 'next' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.calls.map(({ text }) => text)).toEqual([NOTICE, 're: next']);
  });
});

describe('a reply that the platform does not accept', () => {
  it('is sent again in order, without another run, even if a third of the replies fails at first', async () => {
    const seen = new Set<string>();
    exchange.answer = ({ id }) => {
      const isFirst = !seen.has(id);
      seen.add(id);
      return { status: isFirst && seen.size % 3 === 0 ? 500 : 200 };
    };
    const to = shared;
    const threads = ['a', 'b', 'c', 'd', 'e', 'f'];
    await tell(to, ...threads.flatMap((thread) => [1, 2, 3].map((n) => ({ thread, text: `${thread}${n}` }))));
    await exchange.until(() => exchange.taken.length === 18);
    for (const thread of threads) expect(textsTo(thread)).toEqual([1, 2, 3].map((n) => `re: ${thread}${n}`));
    expect(exchange.runs).toHaveLength(18);
    expect(exchange.calls).toHaveLength(24);
    expect(new Set(exchange.calls.map(({ id }) => id)).size).toBe(18);
  });

  it('is sent again only after the time that the platform asked for', async () => {
    exchange.answer = () => (exchange.calls.length === 1 ? { status: 429, retryAfter: 2 } : { status: 200 });
    await tell(shared, { text: 'hello' });
    await exchange.until(() => exchange.taken.length === 1);
    const [first, second] = exchange.calls;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2000);
    expect(exchange.calls).toHaveLength(2);
  });

  it('is not sent again after a final refusal: there is no notice, and the next reply is sent', async () => {
    exchange.answer = ({ text }) => ({ status: text === 're: no' ? 403 : 200 });
    const to = shared;
    await tell(to, { id: 'm1', text: 'no' }, { text: 'next' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.calls.map(({ text }) => text)).toEqual(['re: no', 're: next']);
    expect(to.log().find(({ failure }) => failure !== undefined)).toMatchObject({
      level: 'error',
      failure: 'delivery_refused: status 403',
    });
  });

  it('is retried for INBOX_SEND_SECONDS, then stays in the inbox, and is never replaced by a notice', async () => {
    exchange.answer = ({ text }) => ({ status: text.startsWith('re:') ? 500 : 200 });
    const to = impatient;
    await tell(to, { id: 'm1', text: 'hello' });
    await to.logged(({ msg }) => msg === 'message has failed for good');
    const texts = exchange.calls.map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(1);
    expect(new Set(texts)).toEqual(new Set(['re: hello']));
    expect(exchange.runs).toHaveLength(1);
    const shown = await run(to, 'inbox', 'show', own('m1'), '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ state: 'failed', reply: 're: hello', notice: null });
  });

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
  let withApi: Agentd;
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

  it('let a private chat act for the person until the link is removed', async () => {
    const to = withApi;
    await deliver(to, { link: { user: own('A'), token: await alice() } });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 1);
    expect((await deliver(to, { unlink: { user: own('A') } })).body).toEqual({ removed: true });
    expect((await deliver(to, { unlink: { user: own('A') } })).body).toEqual({ removed: false });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 2);
    const [signedIn, signedOut] = textsTo('t1');
    expect(signedIn).toContain('Alice');
    expect(signedOut).not.toContain('Alice');
    expect(api.seen('/users').map(({ sub }) => sub)).toEqual(['user-1']);
  });

  it('start a new session in a private chat when its person changes', async () => {
    const to = withApi;
    await deliver(to, { link: { user: own('A'), token: await alice() } });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 1);
    await deliver(to, {
      link: { user: own('A'), token: await token({ sub: 'user-2', email: 'bob@example.com' }) },
    });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 2);
    expect(textsTo('t1')[1]).toContain('Bob');
    const shown = await run(to, 'sessions', 'show', `telex:${own('t1')}`, '--json');
    expect(JSON.parse(shown.stdout).turns).toHaveLength(1);
  });

  it('work with every spelling of an id, and with a second id that arrived in the same message', async () => {
    const to = withApi;
    await deliver(to, { link: { user: own('tx-A'), token: await alice() } });
    const ask = (said: Omit<Said, 'text'>) => ({ text: 'Who am I?', ...said });
    await tell(to, ask({ user: 'A.1', thread: 't1' }), ask({ user: 'tx-A', thread: 't2' }));
    await exchange.until(() => exchange.taken.length === 2);
    await tell(to, ask({ user: 'A', alias: 'A.1', thread: 't3' }));
    await exchange.until(() => exchange.taken.length === 3);
    await tell(
      to,
      ask({ user: 'A.1', thread: 't1' }),
      // The id `A` now arrives with a different second id, so it belongs to a new owner.
      ask({ user: 'A', alias: 'A.2', thread: 't4' }),
      ask({ user: 'A.2', thread: 't5' }),
    );
    await exchange.until(() => exchange.taken.length === 6);
    const isAlice = (place: string) => textsTo(place).map((text) => text.includes('Alice'));
    expect(isAlice('t1')).toEqual([false, true]);
    expect(isAlice('t2')).toEqual([true]);
    expect(isAlice('t3')).toEqual([true]);
    expect(isAlice('t4')).toEqual([false]);
    expect(isAlice('t5')).toEqual([false]);
    expect(api.seen('/users').map(({ sub }) => sub)).toEqual(['user-1', 'user-1', 'user-1']);
    await to.logged(({ msg }) => String(msg).startsWith('the link of this user id was made by another'));
    const explained = await run(to, 'explain', `telex:${own('t4')}`);
    expect(explained.stdout).toMatch(/identify +fallback +link_of_other_sender/);
    expect(explained.stdout).toMatch(/\nlink_of_other_sender\n {2}what happened: The user id is linked/);
  });

  it('are not stored if the token is invalid, and the response says why', async () => {
    const to = withApi;
    const answer = await deliver(to, { link: { user: own('A'), token: await token({ ttl: -1 }) } });
    expect(answer.body).toEqual({ linked: false, reason: 'Token Expired', held: false });
    await tell(to, { user: 'A', text: 'Who am I?' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(api.seen('/users')).toEqual([]);
  });

  it('let the agent know once that their token has expired', async () => {
    const to = shared;
    const short = await token({ ttl: 2 });
    await deliver(to, { link: { user: own('A'), token: short } });
    await tell(to, { user: 'A', text: 'before' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.runs[0]).toMatchObject({ sign_in_expired: false, person: { email: 'ada@example.com' } });
    await lapsed(short);
    await tell(to, { id: 'm2', user: 'A', text: 'after' }, { user: 'A', text: 'later' });
    await exchange.until(() => exchange.taken.length === 3);
    expect(exchange.runs.slice(1)).toEqual([
      { text: 'after', sign_in_expired: true, person: null },
      { text: 'later', sign_in_expired: false, person: null },
    ]);
    await to.logged(
      ({ msg }) => msg === 'linked token is not valid: Token Expired; using default credentials',
    );
    const explained = await run(to, 'explain', own('m2'));
    expect(explained.stdout).toMatch(/identify +fallback +Token Expired +link=found\s+link_expires=20\S+Z/);
    expect(explained.stdout).toContain('person_notified=false');
    expect(explained.stdout).toMatch(/what to do: (?:.|\n)*link\s+again/);
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
    const to = await start({ AGENT_CONCURRENCY: '1' });
    await tell(to, { text: 'wait 300 first' }, { text: 'second' });
    await tell(to, { thread: 't2', text: 'third' });
    await exchange.until(() => exchange.runs.length === 1);
    expect(await to.stop()).toBe(0);
    expect(exchange.taken.map(({ text }) => text)).toEqual(['re: wait 300 first']);
    await start({ AGENT_CONCURRENCY: '1' }, to);
    await exchange.until(() => exchange.taken.length === 3);
    expect(exchange.runs).toHaveLength(3);
  });

  it('it stores the message of a run that takes longer than the grace period, and exits with 0', async () => {
    const to = await start({ SHUTDOWN_GRACE_SECONDS: '0' });
    await tell(to, { text: 'wait 30000 long' });
    await exchange.until(() => exchange.runs.length === 1);
    expect(await to.stop()).toBe(0);
    expect(exchange.taken).toEqual([]);
    await start({}, to);
    await exchange.until(() => exchange.runs.length === 2);
  });

  it('it sends the pending replies after the next start, without another run', async () => {
    exchange.answer = () => 'hang';
    const to = await start();
    await tell(to, { text: 'hello' });
    await exchange.until(() => exchange.calls.length === 1);
    await to.stop('SIGKILL');
    exchange.answer = () => ({ status: 200 });
    await start({}, to);
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.runs).toHaveLength(1);
    expect(exchange.calls[0]?.id).toBe(exchange.calls[1]?.id);
  });

  it('it answers each acknowledged message, in order, and a kill repeats at most one per session', async () => {
    const kills = effort(2, 6);
    const acknowledged = new Map<string, string[]>();
    let number = 0;
    let count = 0;
    let killAt = Number.POSITIVE_INFINITY;
    let killNow = () => {};
    let ending = false;
    let to = await start();
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
      to = await start({}, to);
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
