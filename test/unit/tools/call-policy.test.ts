import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ToolAnswer } from '../../../src/agent/index.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { CallBearers } from '../../../src/daemon/tools/call-bearers.ts';
import { builtInSource } from '../../../src/daemon/tools/describe-source.ts';
import type { ToolProgress } from '../../../src/daemon/tools/perform-call.ts';
import type { Sent, Tool, ToolArguments } from '../../../src/daemon/tools/tool.ts';
import { FakeApi, signToken } from '../../support/fake-api.ts';
import { EXCHANGE_CLIENT, FakeAuthorizationServer } from '../../support/fake-authorization-server.ts';
import { anonymous, secret } from '../../support/people-of-api.ts';
import { contextOf, sessionOf, type TestContext } from '../../support/request-context.ts';
import { accessTo, type BoundTool, bindOne, type RunOptions, sourceOf, toolOf } from '../../support/tools.ts';

// These tests check for whom a call acts, with which credential, and which part of its answer is shown.

const claims = {
  sub: 'user-1',
  email: 'alice@example.com',
  exp: Math.floor(Date.now() / 1000) + 3_600,
  number: 17,
  zero: 0,
  empty: '',
  blank: ' ',
  roles: ['admin'],
  address: { city: 'Bonn' },
  active: true,
  nothing: null,
};
const token = signToken(claims, secret);
const alice = { sub: 'user-1', email: 'alice@example.com', token };
const FOREIGN = 'https://billing.example.net';

let api: FakeApi;
beforeEach(async () => {
  api = await FakeApi.start({ secret });
});
afterEach(() => api.close());

const signedIn = () => contextOf(sessionOf('s', 'u', alice));

const OPEN = { type: 'object', properties: {} };
const orders = { method: 'GET', path: '/orders' } as const;

function bind(tool: Tool, context: TestContext, rest: RunOptions = {}): BoundTool {
  const { trace, signal } = context;
  return bindOne(tool, { context, access: accessTo(api.url), trace, signal, ...rest });
}

/** Calls the tool. @returns its answer, and the arguments and credentials of the call (null if no call was made) */
async function sentBy(
  rest: Partial<Tool>,
  context: TestContext,
  args: object = {},
): Promise<{ answer: ToolAnswer; args: ToolArguments | null; credentials: string | null }> {
  let sent: { args: ToolArguments; credentials: string } | null = null;
  const tool = toolOf({
    parameters: OPEN,
    ...rest,
    async send(given, { client }): Promise<Sent> {
      sent = { args: given, credentials: client.credentials };
      return { outcome: 'answered', status: null, result: 'done' };
    },
  });
  const answer = await bind(tool, context).bound.call(args);
  const { args: given = null, credentials = null } = sent ?? {};
  return { answer, args: given, credentials };
}

const SIGN_IN = { ok: false, message: expect.stringContaining('Sign-in is needed') };

describe('bound parameters', () => {
  test.each([
    [{ customer: 'sub' }, { customer: 'user-1' }],
    [{ customer: 'email' }, { customer: 'alice@example.com' }],
    [{ customer: 'number' }, { customer: 17 }],
    [{ customer: 'zero' }, { customer: 0 }],
    [{ 'body.owner': 'sub' }, { body: { owner: 'user-1' } }],
    [
      { customer: 'sub', 'body.owner': 'number' },
      { customer: 'user-1', body: { owner: 17 } },
    ],
  ])('%j are filled in from the claims of the person who sent the message', async (bound, args) => {
    expect((await sentBy({ bind: bound }, signedIn())).args).toEqual(args);
  });

  test('in the body are added to the fields that the model chose', async () => {
    const { args } = await sentBy({ bind: { 'body.owner': 'sub' } }, signedIn(), { body: { note: 'x' } });
    expect(args).toEqual({ body: { note: 'x', owner: 'user-1' } });
  });

  test.each([[[1]], [null]])(
    'in the body cause a body that is not an object to be refused: %j',
    async (body) => {
      expect(await sentBy({ bind: { 'body.owner': 'sub' } }, signedIn(), { body })).toMatchObject({
        answer: { ok: false, message: 'The argument `body` must be of type object.' },
        args: null,
      });
    },
  );

  test.each(['empty', 'blank', 'roles', 'address', 'active', 'nothing', 'absent', 'toString', '__proto__'])(
    'need sign-in, and prevent the call, if the claim is empty, or neither a text nor a number (%s)',
    async (claim) => {
      const { answer, args } = await sentBy({ bind: { customer: claim } }, signedIn());
      expect([answer, args]).toEqual([SIGN_IN, null]);
    },
  );

  test.each(['user-or-default', 'default', 'none'] as const)(
    'prevent the call if there is no person, whatever the policy (%s)',
    async (credentials) => {
      const source = builtInSource(api.url);
      const context = anonymous();
      const { answer, args } = await sentBy({ bind: { customer: 'sub' }, credentials, source }, context);
      expect([answer, args]).toEqual([SIGN_IN, null]);
      expect(context.trace.lines).toMatchObject([
        { step: 'credentials', verdict: 'refused', reason: 'no_jwt_context' },
        { step: 'tool', verdict: 'failed' },
      ]);
    },
  );

  test.each([
    { customer: 'user-2' },
    { Customer: 'user-2' },
    { body: { customer: 'user-2' } },
    { body: [{ deep: { CUSTOMER: null } }] },
    { filter: { customer: { $ne: 1 } } },
  ])('may not be named in the arguments at any depth: %j', async (given) => {
    expect(await sentBy({ bind: { customer: 'sub' } }, signedIn(), given)).toMatchObject({
      answer: {
        ok: false,
        message: "Leave `customer` out: it is filled in from the person's sign-in.",
      },
      args: null,
    });
  });

  test.each([{ body: { owner: 'user-2' } }, { body: { more: [{ owner: 1 }] } }])(
    'in the body may not be named in the arguments: %j',
    async (given) => {
      expect((await sentBy({ bind: { 'body.owner': 'sub' } }, signedIn(), given)).args).toBeNull();
    },
  );

  test('are not filled in from the person of another session or channel user', async () => {
    const crossed = contextOf(sessionOf('s', 'u', alice), { user_id: 'mallory' });
    expect((await sentBy({ bind: { customer: 'sub' } }, crossed)).args).toBeNull();
  });
});

describe('the credential of a call', () => {
  const exchange = {
    url: 'https://login.example.net/token',
    client_id: 'a',
    client_secret: 'b',
    audience: 'c',
  };
  const shop = (rest: object) => ({ source: sourceOf(rest, api.url) });
  const foreign = (rest: object = {}) => shop({ base_url: FOREIGN, ...rest });
  const own = (rest: object = {}) => shop({ base_url: `${api.url}/v2`, ...rest });

  test.each<[string, () => Partial<Tool>, string | null, string | null]>([
    // Each row: the policy and source, the credentials with a person and without a person. Null: no call is made.
    ['user-or-default at the API', () => ({ ...own(), credentials: 'user-or-default' }), 'user', 'default'],
    ['user at the API', () => ({ ...own(), credentials: 'user' }), 'user', null],
    ['default at the API', () => ({ ...own(), credentials: 'default' }), 'default', 'default'],
    ['none at the API', () => ({ ...own(), credentials: 'none' }), 'none', 'none'],
    ['none at another origin', () => ({ ...foreign(), credentials: 'none' }), 'none', 'none'],
    [
      'user at another origin, which the entry allows',
      () => ({ ...foreign({ credentials: 'user' }), credentials: 'user' }),
      'user',
      null,
    ],
    [
      'user at another origin, which the entry does not allow',
      () => ({ ...foreign(), credentials: 'user' }),
      null,
      null,
    ],
    [
      'user at another origin over http, which the entry allows',
      () => ({
        ...shop({ base_url: 'http://billing.example.net', credentials: 'user' }),
        credentials: 'user',
      }),
      null,
      null,
    ],
    [
      'user at a loopback address, which the entry allows',
      () => ({ ...shop({ base_url: 'http://127.0.0.1:1', credentials: 'user' }), credentials: 'user' }),
      'user',
      null,
    ],
    [
      'user at another port of the API',
      () => ({ ...shop({ base_url: 'http://127.0.0.1:1' }), credentials: 'user' }),
      null,
      null,
    ],
    [
      'default at another origin',
      () => ({ ...foreign({ credentials: 'user' }), credentials: 'default' }),
      null,
      null,
    ],
    [
      'user-or-default at another origin',
      () => ({ ...foreign({ credentials: 'user' }), credentials: 'user-or-default' }),
      null,
      null,
    ],
    ['exchange', () => ({ ...foreign({ exchange }), credentials: 'exchange' }), 'exchange', null],
    [
      'exchange without an exchange in the entry',
      () => ({ ...foreign(), credentials: 'exchange' }),
      null,
      null,
    ],
    [
      'user at a source without an address',
      () => ({ source: builtInSource(undefined), credentials: 'user' }),
      'none',
      null,
    ],
  ])('follows the policy: %s', async (_, rest, withPerson, withoutPerson) => {
    expect((await sentBy(rest(), signedIn())).credentials).toBe(withPerson);
    expect((await sentBy(rest(), anonymous())).credentials).toBe(withoutPerson);
  });
});

describe('after a 401 to the token of a person', () => {
  const requesting = (rest: Partial<Tool>) =>
    toolOf({
      source: builtInSource(api.url),
      credentials: 'user-or-default',
      public: 'all',
      parameters: OPEN,
      async send(_args, { client }) {
        const response = await client.request(orders);
        if (response.outcome !== 'answered') return response;
        return { outcome: 'answered', status: response.status, result: response.body };
      },
      ...rest,
    });
  const usersOf = () => api.seen('/orders').map(({ bearer }) => bearer === token);
  beforeEach(() => api.misbehave('/orders', { status: 401 }, 1));

  test.each<[string, Partial<Tool>]>([
    ['a write', { effect: 'write' }],
    ['a read that binds a parameter', { bind: { customer: 'sub' } }],
    ['a read with the policy user', { credentials: 'user' }],
  ])('%s is not repeated: sign-in is needed', async (_, rest) => {
    expect(await bind(requesting(rest), signedIn()).bound.call({})).toEqual(SIGN_IN);
    expect(usersOf()).toEqual([true]);
  });
});

describe('the part of an answer that is shown', () => {
  const answering = (result: unknown, rest: Partial<Tool> = {}, status: number | null = 200) =>
    toolOf({
      source: sourceOf({ base_url: `${api.url}/x` }, api.url),
      credentials: 'user-or-default',
      ...rest,
      async send(_args, { client }) {
        // The client records whose credentials a request used, even if its answer is not used.
        if (rest.credentials !== 'none') await client.request({ method: 'GET', path: '/any' });
        return { outcome: 'answered', status, result };
      },
    });
  const shown = async (tool: Tool, context = anonymous()) => {
    const answer = await bind(tool, context).bound.call({});
    return answer.ok ? answer.result : answer.message;
  };
  const order = { id: 'A-1', total: 42, lines: [{ sku: 'x' }] };

  test.each<[string, unknown, readonly string[] | 'all', unknown]>([
    ['an object', order, ['id', 'none'], { id: 'A-1' }],
    ['an array', [order, { total: 1 }, 'text'], ['id'], [{ id: 'A-1' }, {}]],
    ['an object (all fields)', order, 'all', order],
    ['a text', 'private words', ['id'], null],
    ['a text (all of it)', 'public words', 'all', 'public words'],
    ['an object, and no inherited members', order, ['toString', '__proto__'], {}],
  ])('has only the public fields of %s without sign-in', async (_, result, fields, expected) => {
    expect(await shown(answering(result, { public: fields }))).toEqual(expected);
    expect(await shown(answering(result, { public: fields }), signedIn())).toEqual(result);
  });

  test('has the headers about pages and rates only if it is shown as a whole', async () => {
    const headers = { link: `<https://x/orders?page=2&t=${token}>`, 'x-total': '7' };
    const paged = (rest: Partial<Tool>, status = 200) => {
      const tool = answering(order, rest, status);
      return {
        ...tool,
        send: async (...given: Parameters<Tool['send']>) => ({ ...(await tool.send(...given)), headers }),
      } as Tool;
    };
    const headersOf = async (tool: Tool, context = anonymous()) =>
      (await bind(tool, context).bound.call({})).headers;
    const masked = { ...headers, link: '<https://x/orders?page=2&t=[token]>' };
    expect(await headersOf(paged({}), signedIn())).toEqual(masked);
    expect(await headersOf(paged({}, 429), signedIn())).toEqual(masked);
    expect(await headersOf(paged({ credentials: 'none' }))).toEqual(masked);
    expect(await headersOf(paged({ public: 'all' }))).toEqual(masked);
    expect(await headersOf(paged({ public: 'all' }, 429))).toBeUndefined();
    expect(await headersOf(paged({ public: ['id'] }))).toBeUndefined();
    expect(await headersOf(paged({}))).toBeUndefined();
  });

  test('is empty without public fields, and says that sign-in is needed', async () => {
    for (const result of [order, [order], 'text', null])
      expect(await shown(answering(result))).toMatchObject({ sign_in_needed: true });
  });

  test('says without public fields that a write was done, and mentions sign-in only if sign-in would show more', async () => {
    expect(await shown(answering(order, { effect: 'write', confirm: 'never' }))).toEqual({
      done: true,
      message: 'It was done. The answer may not be shown.',
    });
    expect(await shown(answering(order, { credentials: 'default' }), signedIn())).toEqual({
      message: 'The answer may not be shown.',
    });
  });

  test('is the whole answer for a tool with the policy none', async () => {
    expect(await shown(answering(order, { credentials: 'none' }))).toEqual(order);
  });

  test('has the first 1,000 characters of the body of a 4xx, or only its status without sign-in', async () => {
    const body = { error: `no such order ${'x'.repeat(2_000)}`, token };
    const told = await shown(answering(body, {}, 422), signedIn());
    expect(told).toMatch(
      /^The call was refused with the status 422\. The answer was: \{"error":"no such order x+$/,
    );
    expect((told as string).length).toBe(
      1_000 + 'The call was refused with the status 422. The answer was: '.length,
    );
    for (const fields of [[], 'all'] as const)
      expect(await shown(answering(body, { public: fields }, 422))).toBe(
        'The call was refused with the status 422.',
      );
  });

  test('masks the tokens in the body of a 4xx', async () => {
    expect(await shown(answering(`echo ${token}`, {}, 400), signedIn())).toBe(
      'The call was refused with the status 400. The answer was: echo [token]',
    );
  });

  test('does not include the body of a 5xx or a 401', async () => {
    expect(await shown(answering('stack trace', {}, 503), signedIn())).toBe(
      'The other system cannot answer at the moment (status 503).',
    );
    expect(await shown(answering('who are you', {}, 401), signedIn())).toBe(
      'The other system does not accept the credentials of this service.',
    );
  });

  test('includes the message of a tool about its failure, but without sign-in only if the tool is public', async () => {
    const failing = (rest: Partial<Tool>) =>
      toolOf({
        ...answering(null, rest),
        send: async (_args, { client }) => {
          await client.request({ method: 'GET', path: '/any' });
          return { outcome: 'answered', status: null, result: 'order of Bob', is_error: true };
        },
      });
    expect(await shown(failing({}), signedIn())).toBe('The tool reported an error: order of Bob');
    expect(await shown(failing({}))).toBe('The tool reported an error.');
    expect(await shown(failing({ public: 'all' }))).toBe('The tool reported an error: order of Bob');
  });

  test('masks opaque tokens and fixed headers that an API echoes, even in parts of JSON texts', async () => {
    const key = 'key/with+slashes==';
    const source = sourceOf({ base_url: api.url, headers: { 'X-Api-Key': key } }, api.url);
    const echo = toolOf({
      source,
      credentials: 'none',
      async send(_args, { client }) {
        const response = await client.request({ method: 'GET', path: '/echo' });
        if (response.outcome !== 'answered') return response;
        return { outcome: 'answered', status: 200, result: { raw: response.body, own: `said ${key}` } };
      },
    });
    // This is JSON as PHP writes it, with escaped slashes.
    api.misbehave('/echo', { status: 200, body: `{"you":"${key.replaceAll('/', '\\/')}"}` });
    expect(await shown(echo)).toEqual({ raw: { you: '[token]' }, own: 'said [token]' });
    expect(api.seen('/echo')[0]?.headers['x-api-key']).toBe(key);
  });

  test('masks a token at the end of a long failure, and at the end of a long path in the trace', async () => {
    const key = 'an-opaque-key-of-the-source';
    const source = sourceOf({ base_url: api.url, headers: { 'X-Api-Key': key } }, api.url);
    const failing = toolOf({
      source,
      credentials: 'none',
      async send(_args, { client }) {
        await client.request({ method: 'GET', path: `/${'n'.repeat(180)}/${token}` });
        return {
          outcome: 'failed',
          reached: true,
          reason: 'broken',
          message: `${'word '.repeat(197)}${key}`,
        };
      },
    });
    const context = anonymous();
    expect(await shown(failing, context)).not.toContain('an-opaque');
    const { detail } = context.trace.lines.find(({ step }) => step === 'downstream') ?? {};
    expect(detail?.path).toBe(`/${'n'.repeat(180)}/[token]`);
  });

  test('masks a secret that is a part of a fixed header, also as it is written in an address', async () => {
    const key = 'key/with+slashes==';
    const encoded = encodeURIComponent(key);
    const forms = [`Bearer ${key}`, `the key ${key}`, `/?key=${encoded}`, `/?key=${encoded.toLowerCase()}`];
    // The other header is too short to be a secret, and may be a usual word.
    const authorized = { headers: { Authorization: `Bearer ${key}`, 'X-Tenant': 'shop' } };
    const listed = { headers: { 'X-Form': `Bearer ${key}`, 'X-Tenant': 'shop' }, secrets: [new Secret(key)] };
    for (const entry of [authorized, listed]) {
      const source = sourceOf({ base_url: api.url, ...entry }, api.url);
      expect(await shown(answering(['shop', ...forms], { source, credentials: 'none' }))).toEqual([
        'shop',
        '[token]',
        'the key [token]',
        '/?key=[token]',
        '/?key=[token]',
      ]);
    }
  });
});

describe('an exchanged token', () => {
  let server: FakeAuthorizationServer;
  beforeEach(async () => {
    server = await FakeAuthorizationServer.start();
  });
  afterEach(() => server.close());

  const exchanging = (fetching = false) =>
    toolOf({
      source: sourceOf(
        { base_url: api.url, exchange: { url: server.url, ...EXCHANGE_CLIENT, audience: 'billing' } },
        'https://api.example.com',
      ),
      credentials: 'exchange',
      async send(_args, { client }) {
        if (fetching) {
          const { status } = await client.fetch(`${api.url}/orders`);
          return { outcome: 'answered', status, result: null };
        }
        const response = await client.request(orders);
        if (response.outcome !== 'answered') return response;
        return { outcome: 'answered', status: response.status, result: response.body };
      },
    });

  test.each([false, true])(
    "is sent instead of the person's own token, which the source never gets",
    async (fetching) => {
      api.misbehave('/orders', { status: 200, body: [] });
      expect(await bind(exchanging(fetching), signedIn()).bound.call({})).toMatchObject({ ok: true });
      expect(api.seen('/orders').map(({ bearer }) => bearer)).toEqual(['exchanged-1-for-billing']);
      expect([server.wrong, server.exchanged]).toEqual([[], [token]]);
    },
  );

  test.each([false, true])('is replaced once by a new exchanged token after a 401', async (fetching) => {
    api.misbehave('/orders', { status: 401 }, 1);
    await bind(exchanging(fetching), signedIn()).bound.call({});
    expect(api.seen('/orders').map(({ bearer }) => bearer)).toEqual([
      'exchanged-1-for-billing',
      'exchanged-2-for-billing',
    ]);
  });

  test('that is refused a second time means that sign-in is needed', async () => {
    api.misbehave('/orders', { status: 401 });
    expect(await bind(exchanging(), signedIn()).bound.call({})).toEqual(SIGN_IN);
    expect(api.seen('/orders')).toHaveLength(2);
  });

  test('that cannot be obtained makes the call fail with a message, and is in the trace', async () => {
    server.instead = { status: 500, body: '' };
    const context = signedIn();
    expect(await bind(exchanging(), context).bound.call({})).toEqual({
      ok: false,
      message: 'Signing in to the other system is not possible at the moment.',
    });
    expect(api.requests).toEqual([]);
    expect(context.trace.lines).toContainEqual(
      expect.objectContaining({ step: 'downstream', verdict: 'failed', reason: 'exchange_failed' }),
    );
  });

  test.each([false, true])(
    'is not sent if the person has signed out at the site meanwhile',
    async (fetching) => {
      const access = { ...accessTo(api.url), marks: { covers: async () => server.exchanged.length > 0 } };
      expect(await bind(exchanging(fetching), signedIn(), { access }).bound.call({})).toMatchObject({
        ok: false,
      });
      expect([server.exchanged, api.requests]).toEqual([[token], []]);
    },
  );

  test('is not requested without a person', async () => {
    expect(await bind(exchanging(), anonymous()).bound.call({})).toEqual(SIGN_IN);
    expect([server.exchanged, api.requests]).toEqual([[], []]);
  });
});

test('the default token is not obtained for another origin, whatever the policy has chosen', async () => {
  const { trace, signal } = signedIn();
  const tool = toolOf({ source: sourceOf({ base_url: FOREIGN }, api.url) });
  const bearers = new CallBearers(
    tool,
    { use: 'default', because: null },
    { trace, signal },
    accessTo(api.url),
  );
  await expect(bearers.chosen()).rejects.toThrow(TypeError);
  expect([api.requests, bearers.secrets]).toEqual([[], []]);
});

test('a call that has ended reports the credentials that it carried, or that sign-in is needed', async () => {
  const reportOf = async (credentials: Tool['credentials'], context: TestContext) => {
    const reports: ToolProgress[] = [];
    const tool = toolOf({
      credentials,
      parameters: OPEN,
      source: sourceOf({ base_url: api.url }, api.url),
      send: async () => ({ outcome: 'answered', status: 200, result: 1 }),
    });
    await bind(tool, context, { progress: (one) => void reports.push(one) }).bound.call({});
    return reports.at(-1);
  };
  expect(await reportOf('user-or-default', signedIn())).toMatchObject({ credentials: 'user' });
  expect(await reportOf('user-or-default', anonymous())).toMatchObject({ credentials: 'default' });
  expect(await reportOf('none', signedIn())).toEqual({ tool_name: expect.any(String), status: 'completed' });
  expect(await reportOf('user', anonymous())).toMatchObject({ status: 'failed', sign_in_needed: true });
});
