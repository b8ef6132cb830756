import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WatchedRequest } from '../../../src/daemon/tools/call-request.ts';
import { describeSource } from '../../../src/daemon/tools/describe-source.ts';
import type { CredentialForm } from '../../../src/daemon/tools/downstream/credential-form.ts';
import type { Tool, ToolSourceInfo } from '../../../src/daemon/tools/tool.ts';
import { FakeApi, type SeenRequest } from '../../support/fake-api.ts';
import { EXCHANGE_CLIENT, FakeAuthorizationServer } from '../../support/fake-authorization-server.ts';
import { alice, anonymous, secret, signedIn, token } from '../../support/people-of-api.ts';
import type { TestContext } from '../../support/request-context.ts';
import { accessTo, bindOne, sourceOf, toolOf } from '../../support/tools.ts';

// A source may take the person's token in another place than `Authorization: Bearer`. Whatever the place, the token goes
// to the origin of the source alone, and is masked in everything that comes back.

let api: FakeApi;
let elsewhere: FakeApi;

beforeEach(async () => {
  api = await FakeApi.start({ secret });
  elsewhere = await FakeApi.start({ secret });
});
afterEach(async () => {
  await api.close();
  await elsewhere.close();
});

const HEADER: CredentialForm = { header: 'X-User-Token', scheme: null };
const SCHEME: CredentialForm = { header: 'Authorization', scheme: 'Token' };
const COOKIE: CredentialForm = { cookie: 'session' };
const FORMS: [string, CredentialForm, (value: string) => Record<string, string | undefined>][] = [
  ['a header', HEADER, (value) => ({ 'x-user-token': value, authorization: undefined, cookie: undefined })],
  ['another scheme', SCHEME, (value) => ({ authorization: `Token ${value}`, cookie: undefined })],
  ['a cookie', COOKIE, (value) => ({ cookie: `session=${value}`, authorization: undefined })],
];

interface Called {
  answer: unknown;
  seen: SeenRequest[];
  watched: WatchedRequest[];
  context: TestContext;
  logged: unknown[];
}

async function call(
  source: ToolSourceInfo,
  rest: Partial<Tool>,
  { context = signedIn(), path = '/orders', fetching = false, headers = {} as Record<string, string> } = {},
): Promise<Called> {
  const watched: WatchedRequest[] = [];
  const tool = toolOf({
    source,
    credentials: 'user',
    ...rest,
    async send(_args, { client }) {
      if (fetching) {
        const { base_url = '' } = source.target ?? {};
        const response = await client.fetch(`${base_url}${path}`, { headers });
        return { outcome: 'answered', status: response.status, result: await response.json() };
      }
      const response = await client.request({ method: 'GET', path, headers });
      if (response.outcome !== 'answered') return response;
      return { outcome: 'answered', status: response.status, result: response.body };
    },
  });
  const { trace, signal } = context;
  const { bound, logged } = bindOne(tool, {
    context,
    access: accessTo(api.url),
    trace,
    signal,
    watch: (request) => void watched.push(request),
  });
  const answer = await bound.call({});
  return {
    answer,
    seen: api.requests.filter((request) => request.path === path),
    watched,
    context,
    logged: logged.lines,
  };
}

describe.each(FORMS)("the person's token in %s", (_, credential, expected) => {
  test.each([false, true])(
    'is sent there, and is masked wherever it comes back (fetch: %s)',
    async (fetching) => {
      const source = sourceOf({ base_url: api.url, credential }, api.url);
      api.misbehave('/orders', { status: 200, body: { echo: token, [token]: `Token ${token}` } });
      const { answer, seen, watched, context, logged } = await call(source, {}, { fetching });
      expect(seen.map(({ headers }) => headers)).toEqual([
        expect.objectContaining(definedIn(expected(token))),
      ]);
      for (const [name, value] of Object.entries(expected(token)))
        if (value === undefined) expect(seen[0]?.headers).not.toHaveProperty(name);
      expect(answer).toEqual({ ok: true, result: { echo: '[token]', '[token]': 'Token [token]' } });
      expect(JSON.stringify([watched, context.trace.lines, logged])).not.toContain(token);
      expect(watched).toMatchObject([{ credentials: 'user', credential }]);
    },
  );

  test.each([false, true])('cannot be set by the tool (fetch: %s)', async (fetching) => {
    const source = sourceOf({ base_url: api.url, credential }, api.url);
    const name = 'cookie' in credential ? 'Cookie' : credential.header.toUpperCase();
    api.misbehave('/orders', { status: 200, body: {} });
    for (const policy of ['user', 'none'] as const) {
      const { seen } = await call(source, { credentials: policy }, { fetching, headers: { [name]: 'mine' } });
      expect(JSON.stringify(seen)).not.toContain('mine');
    }
  });

  test('does not follow a redirect', async () => {
    const source = sourceOf({ base_url: api.url, credential }, api.url);
    api.misbehave('/orders', { redirect: `${elsewhere.url}/orders` });
    await call(source, {});
    expect(elsewhere.requests).toEqual([]);
  });

  test('may be the default token, which is renewed after a 401', async () => {
    const source = sourceOf({ base_url: api.url, credential }, api.url);
    api.misbehave('/orders', { status: 401 }, 1);
    const { seen } = await call(
      source,
      { credentials: 'user-or-default', public: 'all' },
      { context: anonymous() },
    );
    const name = 'cookie' in credential ? 'cookie' : credential.header.toLowerCase();
    const sent = seen.map(({ headers }) => String(headers[name]));
    expect(sent).toHaveLength(2);
    expect(sent[0]).not.toBe(sent[1]);
    const wanted = expected('eyJ')[name] as string;
    for (const value of sent) expect(value.slice(0, wanted.length)).toBe(wanted);
  });

  test('falls back to the default token in the same place after a 401', async () => {
    const source = sourceOf({ base_url: api.url, credential }, api.url);
    api.misbehave('/orders', { status: 401 }, 1);
    const { seen } = await call(source, { credentials: 'user-or-default' });
    const name = 'cookie' in credential ? 'cookie' : credential.header.toLowerCase();
    expect(seen.map(({ headers }) => headers[name] === expected(token)[name])).toEqual([true, false]);
    expect(seen[1]?.headers[name]).toBeDefined();
  });

  test('may be an exchanged token, and the own token is then not sent', async () => {
    const server = await FakeAuthorizationServer.start();
    const exchange = { url: server.url, ...EXCHANGE_CLIENT, audience: 'billing' };
    const source = sourceOf({ base_url: api.url, credential, exchange }, 'https://api.example.com');
    api.misbehave('/orders', { status: 200, body: { echo: 'exchanged-1-for-billing' } });
    const { answer, seen } = await call(source, { credentials: 'exchange' });
    await server.close();
    expect(seen.map(({ headers }) => headers)).toEqual([
      expect.objectContaining(definedIn(expected('exchanged-1-for-billing'))),
    ]);
    expect(JSON.stringify(seen)).not.toContain(token);
    expect(answer).toEqual({ ok: true, result: { echo: '[token]' } });
  });
});

function definedIn(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}

test('a token that a cookie cannot contain is not sent', async () => {
  const source = sourceOf({ base_url: api.url, credential: COOKIE }, api.url);
  const stranger = { ...alice, token: `${token};admin=1` };
  const context = signedIn(stranger);
  for (const fetching of [false, true]) {
    const { answer, seen } = await call(source, {}, { context, fetching });
    expect([answer, seen]).toMatchObject([{ ok: false }, []]);
  }
});

test('a module has the form of its entry, and the built-in tools have a bearer token', async () => {
  const module = describeSource(
    { kind: 'module', location: 'tools[0]', module: './a.ts', folder: '/', credential: HEADER },
    api.url,
  );
  api.misbehave('/orders', { status: 200, body: {} });
  const { seen } = await call(module, {});
  expect(seen[0]?.headers).toMatchObject({ 'x-user-token': token });
  expect(seen[0]?.bearer).toBeNull();
});
