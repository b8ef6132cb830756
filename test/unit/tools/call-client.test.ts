import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { builtInSource } from '../../../src/daemon/tools/describe-source.ts';
import type { CredentialPolicy, ToolResponse } from '../../../src/daemon/tools/tool.ts';
import type { ToolAccess } from '../../../src/daemon/tools/tool-access.ts';
import { answersTwice } from '../../support/answers-twice.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { anonymous, personOf, secret, signedIn, token } from '../../support/people-of-api.ts';
import { contextOf, sessionOf, type TestContext } from '../../support/request-context.ts';
import { accessTo, bindOne, sourceOf, toolOf } from '../../support/tools.ts';

let api: FakeApi;
let logged: ReturnType<typeof collectLog>;

beforeEach(async () => {
  api = await FakeApi.start({ secret });
  logged = collectLog();
});
afterEach(() => api.close());

/** The answer of the client to one request. Null if the tool was not called. */
async function call(
  context: TestContext,
  credentials: CredentialPolicy,
  access: ToolAccess = accessTo(api.url, logged.log),
  email = 'alice@example.com',
): Promise<ToolResponse | null> {
  let response: ToolResponse | null = null;
  const tool = toolOf({
    source: builtInSource(api.url),
    credentials,
    async send(_args, { client }) {
      response = await client.request({ method: 'GET', path: '/users', query: [['userEmail', email]] });
      return { outcome: 'answered', status: null, result: null };
    },
  });
  const { trace, signal } = context;
  await bindOne(tool, { context, access, trace, signal, log: logged.log }).bound.call({});
  return response;
}

const subs = () => api.seen('/users').map((request) => request.sub);
const trace = (context: TestContext) =>
  context.trace.lines
    .filter(({ step }) => step !== 'tool')
    .map(({ step, verdict, reason, detail }) => ({ step, verdict, reason, ...detail }));
const users = { method: 'GET', path: '/users', source: 'api' };

describe('the policy user-or-default', () => {
  test("uses the user's token", async () => {
    const context = signedIn();
    expect(await call(context, 'user-or-default')).toMatchObject({
      outcome: 'answered',
      credentials: 'user',
      status: 200,
    });
    expect(subs()).toEqual(['user-1']);
    expect(api.seen('/authentication_token')).toEqual([]);
    expect(trace(context)).toEqual([
      {
        step: 'credentials',
        verdict: 'ok',
        reason: undefined,
        credentials: 'user',
        policy: 'user-or-default',
      },
      { step: 'downstream', verdict: 'ok', reason: undefined, credentials: 'user', ...users, status: 200 },
    ]);
  });

  test('falls back to the default token without a user, and gives the reason', async () => {
    const context = anonymous();
    expect(await call(context, 'user-or-default')).toMatchObject({
      outcome: 'answered',
      credentials: 'default',
      status: 200,
    });
    expect(subs()).toEqual(['service']);
    const because = { reason: 'no_jwt_context', credentials: 'default' };
    expect(trace(context)).toEqual([
      { step: 'credentials', verdict: 'fallback', ...because, policy: 'user-or-default' },
      {
        step: 'downstream',
        verdict: 'fallback',
        ...because,
        ...users,
        default_because: 'no_jwt_context',
        status: 200,
      },
    ]);
  });

  test("falls back once, with a warning, if the API refuses the user's token", async () => {
    api.revoke(token);
    const context = signedIn();
    expect(await call(context, 'user-or-default')).toMatchObject({ credentials: 'default', status: 200 });
    expect(api.seen('/users').map((request) => request.bearer === token)).toEqual([true, false]);
    expect(trace(context).map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ['ok', undefined],
      ['failed', 'user_token_refused'],
      ['fallback', 'user_token_refused'],
    ]);
    expect(logged.lines).toMatchObject([
      { level: 'warn', msg: "the business API refused the user's token: default credentials for this call" },
    ]);
  });
});

describe('while the store cannot say whether the person is still signed in', () => {
  const unreachable = () => Promise.reject(new StoreUnavailable(new Error('the store is away')));
  test.each([
    ['needs the person', { credentials: 'user' }],
    ['binds a parameter', { credentials: 'user-or-default', bind: { account: 'sub' } }],
  ] as const)('a call that %s is not made, and nobody is told to sign in', async (_, policy) => {
    const context = { ...signedIn(), readSession: unreachable };
    const bound = bindOne(toolOf({ source: builtInSource(api.url), ...policy }), {
      context,
      access: accessTo(api.url),
    });
    const answer = await bound.bound.call({});
    expect(answer).toMatchObject({ ok: false, message: expect.stringContaining('cannot be checked') });
    expect(api.requests).toEqual([]);
  });

  test('a request is not sent if the store fails just before', async () => {
    const asked: null[] = [];
    const whyUnlinked = async () => (asked.push(null) === 1 ? null : unreachable());
    const context = { ...signedIn(), whyUnlinked };
    expect(await call(context, 'user')).toMatchObject({
      outcome: 'failed',
      reached: false,
      reason: 'session_unreachable',
    });
    expect(api.requests).toEqual([]);
    expect(trace(context).at(-1)).toMatchObject({ step: 'downstream', reason: 'session_unreachable' });
  });
});

test('the policy default uses the default token, even if there is a user', async () => {
  const context = signedIn();
  expect(await call(context, 'default')).toMatchObject({ credentials: 'default', status: 200 });
  expect(subs()).toEqual(['service']);
  expect(trace(context).at(-1)).toMatchObject({ verdict: 'ok', credentials: 'default' });
});

test('with the policy none, a 401 is traced as a refused call, not as a refused token', async () => {
  api.misbehave('/users', { status: 401 }, 1);
  const context = signedIn();
  await call(context, 'none');
  expect(trace(context).at(-1)).toMatchObject({ verdict: 'failed', reason: 'http_401', credentials: 'none' });
});

test('a request is counted for the source of its tool, and a login for the API', async () => {
  const counted: unknown[] = [];
  const access = accessTo(api.url, logged.log, {
    downstreamEnded: (source) => void counted.push(source),
  });
  const tool = toolOf({
    source: sourceOf({ name: 'shop', base_url: api.url }, api.url),
    credentials: 'default',
    send: async (_args, { client }) => client.request({ method: 'GET', path: '/users' }) as never,
  });
  await bindOne(tool, { context: anonymous(), access }).bound.call({});
  await call(anonymous(), 'default', access);
  expect(counted).toEqual(['api', 'shop', 'api']);
});

describe('the default token', () => {
  test('is fetched again once per call as long as the API refuses every token', async () => {
    api.misbehave('/users', { status: 401 }, 4);
    const access = accessTo(api.url, logged.log);
    for (const fetched of [2, 3]) {
      expect(await call(anonymous(), 'user-or-default', access)).toMatchObject({ status: 401 });
      expect(api.seen('/authentication_token')).toHaveLength(fetched);
    }
    expect(await call(anonymous(), 'user-or-default', access)).toMatchObject({ status: 200 });
    expect(api.seen('/authentication_token')).toHaveLength(3);
  });

  test('that cannot be obtained makes the call fail with a message, and is in the trace', async () => {
    api.misbehave('/authentication_token', { status: 500 });
    const context = anonymous();
    expect(await call(context, 'user-or-default')).toEqual({
      outcome: 'failed',
      reached: false,
      reason: 'default_token_failed',
      message: 'Signing in to the business API is not possible at the moment.',
    });
    expect(trace(context).at(-1)).toMatchObject({
      verdict: 'failed',
      reason: 'default_token_failed',
      path: '/authentication_token',
    });
  });
});

test('a failure of the API is in the trace with its status', async () => {
  api.misbehave('/users', { status: 500 });
  const context = signedIn();
  expect(await call(context, 'user-or-default')).toMatchObject({ outcome: 'answered', status: 500 });
  expect(trace(context).at(-1)).toMatchObject({ verdict: 'failed', reason: 'http_500', status: 500 });
});

test('no token is in the log or in a trace, even after failures', async () => {
  const access = accessTo(api.url, logged.log);
  const contexts = [signedIn(), anonymous(), signedIn(), anonymous()];
  await call(contexts[0] as TestContext, 'user-or-default', access);
  await call(contexts[1] as TestContext, 'user-or-default', access);
  api.revoke(token);
  await call(contexts[2] as TestContext, 'user-or-default', access);
  api.misbehave('/users', { status: 200, body: 'not json' });
  await call(contexts[3] as TestContext, 'user-or-default', access);
  const told = JSON.stringify([contexts.map((context) => context.trace.finished()), logged.lines]);
  for (const { bearer } of api.seen('/users')) expect(told).not.toContain(bearer);
  expect(told).not.toContain('service-password');
  expect(told).not.toContain('alice@example.com');
});

test("many simultaneous messages each act with their own person's token", async () => {
  const access = accessTo(api.url, logged.log);
  const people = Array.from({ length: 50 }, (_, index) => `person-${index}`);
  await Promise.all(
    people.map((sub) => {
      const context = contextOf(sessionOf(`session-${sub}`, sub, personOf(sub)));
      return call(context, 'user-or-default', access, `${sub}@example.com`);
    }),
  );
  expect(
    api
      .seen('/users')
      .map(({ sub, query }) => [sub, query.userEmail])
      .sort(),
  ).toEqual(people.map((sub) => [sub, `${sub}@example.com`]).sort());
});

test('an answer too many to one person is not given to another, although no request carries a token of a person', async () => {
  const url = await answersTwice((request) => JSON.stringify(/^GET \/(\S+)/.exec(request)?.[1]));
  const tool = toolOf({
    source: builtInSource(url),
    public: 'all',
    async send(_args, { client, person }) {
      const sent = await client.request({ method: 'GET', path: `/${person?.sub}` });
      return { outcome: 'answered', status: 200, result: sent.outcome === 'answered' ? sent.body : null };
    },
  });
  for (const sub of ['ada', 'bob', 'cyd']) {
    const { bound } = bindOne(tool, { context: signedIn(personOf(sub)) });
    expect(await bound.call({})).toEqual({ ok: true, result: sub });
  }
});
