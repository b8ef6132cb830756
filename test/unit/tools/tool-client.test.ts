import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { builtInSource } from '../../../src/daemon/tools/describe-source.ts';
import type { ToolRequest } from '../../../src/daemon/tools/downstream/client.ts';
import type { Tool, ToolClient, ToolResponse } from '../../../src/daemon/tools/tool.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { personOf, secret, signedIn, token } from '../../support/people-of-api.ts';
import type { TestContext } from '../../support/request-context.ts';
import { accessTo, bindOne, sourceOf, toolOf } from '../../support/tools.ts';

// These tests check what a source can do with the client of a call, and what it cannot do.

let api: FakeApi;
let elsewhere: FakeApi;

beforeEach(async () => {
  api = await FakeApi.start({ secret, prefix: '/v2' });
  elsewhere = await FakeApi.start({ secret });
});
afterEach(async () => {
  await api.close();
  await elsewhere.close();
});

/** Calls a tool that runs `work` with its client. @returns the result of `work` */
async function withClient<T>(
  work: (client: ToolClient) => Promise<T>,
  rest: Partial<Tool> = {},
  context: TestContext = signedIn(),
): Promise<T> {
  let outcome: { value: T } | { error: unknown } | null = null;
  const tool = toolOf({
    source: sourceOf({ base_url: api.url, headers: { 'X-Api-Key': 'fixed-key' } }, api.url),
    credentials: 'user',
    async send(_args, { client }) {
      outcome = await work(client).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      return { outcome: 'answered', status: null, result: null };
    },
    ...rest,
  });
  const { trace, signal } = context;
  await bindOne(tool, { context, access: accessTo(api.url), trace, signal }).bound.call({});
  const ended = outcome as { value: T } | { error: unknown } | null;
  if (ended === null) return expect.fail('the tool was not called');
  if ('error' in ended) throw ended.error;
  return ended.value;
}

const request = (given: Partial<ToolRequest>, rest: Partial<Tool> = {}): Promise<ToolResponse> =>
  withClient((client) => client.request({ method: 'GET', path: '/orders', ...given }), rest);

describe('the request of a tool client', () => {
  test('is sent below the base URL, with the query in order, the body as JSON, and the fixed headers', async () => {
    api.misbehave('/orders', { status: 201, body: { id: 1 } });
    const query = [
      ['tag', 'a b'],
      ['tag', '&c'],
    ] as const;
    expect(
      await request({ method: 'POST', query, body: { n: 1 }, headers: { 'Idempotency-Key': 'k' } }),
    ).toEqual({ outcome: 'answered', credentials: 'user', status: 201, body: { id: 1 } });
    expect(api.requests).toMatchObject([
      {
        method: 'POST',
        path: '/orders',
        bearer: token,
        body: { n: 1 },
        headers: { 'idempotency-key': 'k', 'x-api-key': 'fixed-key' },
      },
    ]);
  });

  test.each([
    '/orders/..',
    '/orders/../../admin',
    '/orders/%2e%2e/admin',
    '/orders/.%2E/admin',
    '/orders/./1',
    '/orders//1',
    '//evil.example.com/',
    '/orders/..\\admin',
    '/orders/\t../admin',
    '/orders/a b',
    '/orders/%252e%252e/admin',
    '/orders/..%2f..%2fadmin',
    '/orders/..;/admin',
    '/orders/a%2Fb',
    '/orders/a%5cb',
    '/orders/a%252fb',
    '/orders/%2e%2e%5cadmin',
    'orders',
    '',
    'https://evil.example.com/orders',
    '@evil.example.com/',
  ])('is refused if its path could lead elsewhere: %j', async (path) => {
    expect(await request({ path })).toMatchObject({
      outcome: 'failed',
      reached: false,
      reason: 'path_refused',
      message: expect.stringMatching(/^The request was not sent, because its path /),
    });
    expect(api.requests).toEqual([]);
  });

  test('may contain an encoded slash in its path if it says so, but no dot segment', async () => {
    api.misbehave('/orders/a%2Fb', { status: 200, body: {} });
    const slashed = (path: string) => request({ path, allow_slash: true });
    expect(await slashed('/orders/a%2Fb')).toMatchObject({ outcome: 'answered', status: 200 });
    for (const path of ['/orders/a%2F..%2Fb', '/orders/a%2F%2Fb', '/orders/%252e%252e'])
      expect(await slashed(path)).toMatchObject({ outcome: 'failed', reason: 'path_refused' });
    expect(api.requests).toHaveLength(1);
  });

  test.each([
    'X-HTTP-Method-Override',
    'X-Forwarded-For',
    'x-original-url',
    'Forwarded',
    'X_Forwarded_Host',
    'Authorization',
    'COOKIE',
    'Host',
    'Connection',
    'Keep-Alive',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Content-Length',
    'Content-Type',
    'x-api-key',
    'a b',
    'a\r\nX-Evil',
  ])('is refused if it sets the header %j', async (name) => {
    expect(await request({ headers: { [name]: 'x' } })).toMatchObject({
      outcome: 'failed',
      reached: false,
      reason: 'header_refused',
      message: `The header \`${name}\` may not be set.`,
    });
    expect(api.requests).toEqual([]);
  });

  test('is refused if it sets the header of the credential, also if no credential is sent', async () => {
    const credential = { header: 'X-User-Token', scheme: null };
    const source = sourceOf({ base_url: api.url, credential }, api.url);
    for (const credentials of ['user', 'none'] as const)
      expect(
        await request({ headers: { 'x-user-token': 'of somebody else' } }, { source, credentials }),
      ).toMatchObject({ outcome: 'failed', reason: 'header_refused' });
    expect(api.requests).toEqual([]);
  });

  test.each(['a\r\nX-Evil: 1', 'a\0', '\u{1f600}'])(
    'is refused if a header has the value %j',
    async (value) => {
      expect(await request({ headers: { 'X-Note': value } })).toMatchObject({
        outcome: 'failed',
        reached: false,
        reason: 'header_refused',
      });
      expect(api.requests).toEqual([]);
    },
  );

  test('does not follow redirects, even within the origin', async () => {
    for (const redirect of [`${api.url}/users`, `${elsewhere.url}/users`, '/v2/users']) {
      api.misbehave('/orders', { redirect });
      expect(await request({})).toMatchObject({ outcome: 'failed', reason: 'redirect_refused' });
    }
    expect(api.seen('/users')).toEqual([]);
    expect(elsewhere.requests).toEqual([]);
  });

  test('of the built-in lookup follows redirects only within the origin', async () => {
    const source = builtInSource(api.url);
    api.misbehave('/orders', { redirect: '/v2/users?userEmail=alice@example.com' });
    expect(await request({}, { source })).toMatchObject({ outcome: 'answered', status: 200 });
    api.misbehave('/orders', { redirect: `${elsewhere.url}/users` });
    expect(await request({}, { source })).toMatchObject({ outcome: 'failed', reason: 'redirect_refused' });
    expect(elsewhere.requests).toEqual([]);
  });

  test('returns an answer that is not JSON as a text', async () => {
    api.misbehave('/orders', { status: 200, body: 'id,total\n1,2' });
    expect(await request({})).toMatchObject({ status: 200, body: 'id,total\n1,2' });
    api.misbehave('/orders', { status: 500, body: '<h1>no</h1>' });
    expect(await request({})).toMatchObject({ status: 500, body: '<h1>no</h1>' });
  });

  test('fails if the answer is huge', async () => {
    api.misbehave('/orders', 'huge');
    expect(await request({})).toMatchObject({ outcome: 'failed', reached: true, reason: 'too_large' });
  });

  test('that could not connect is reported as not sent', async () => {
    const source = sourceOf({ base_url: elsewhere.url, credentials: 'user' }, api.url);
    await elsewhere.close();
    elsewhere = await FakeApi.start({ secret });
    expect(await request({}, { source })).toMatchObject({ reached: false, reason: 'unreachable' });
  });

  test('fails if the source has no address', async () => {
    const source = builtInSource(undefined);
    expect(await request({}, { source, credentials: 'none' })).toMatchObject({ reason: 'no_address' });
  });
});

describe('the fetch of a tool client', () => {
  test('adds the credential and the fixed headers, and removes the credentials and cookies that the caller sets', async () => {
    await withClient(async (client) => {
      expect(client.credentials).toBe('user');
      await client.fetch(`${api.url}/orders`, {
        method: 'POST',
        headers: { Authorization: 'Bearer mine', Cookie: 'a=b', 'X-Api-Key': 'mine', 'Mcp-Session-Id': 's' },
        body: '{}',
      });
    });
    expect(api.requests).toMatchObject([
      { bearer: token, headers: { 'x-api-key': 'fixed-key', 'mcp-session-id': 's' } },
    ]);
    expect(api.requests[0]?.headers.cookie).toBeUndefined();
  });

  test.each(['string', 'URL', 'Request'])('refuses another origin (as a %s)', async (kind) => {
    const url = `${elsewhere.url}/orders`;
    const input = kind === 'string' ? url : kind === 'URL' ? new URL(url) : new Request(url);
    await expect(withClient((client) => client.fetch(input))).rejects.toThrow('another origin');
    expect(elsewhere.requests).toEqual([]);
  });

  test('returns a redirect unchanged', async () => {
    api.misbehave('/orders', { redirect: `${elsewhere.url}/users` });
    const { status } = await withClient((client) =>
      client.fetch(`${api.url}/orders`, { redirect: 'follow' }),
    );
    expect([status, elsewhere.requests]).toEqual([302, []]);
  });

  test('belongs to a client with an identity, which two calls share only if they have the same credential', async () => {
    const identity = (context?: TestContext, rest?: Partial<Tool>) =>
      withClient(async (client) => client.identity, rest, context);
    const own = await identity();
    expect(await identity()).toBe(own);
    expect(await identity(signedIn(personOf('user-2')))).not.toBe(own);
    expect(await identity(undefined, { credentials: 'none' })).toBe('none');
    expect(own).not.toContain(token);
  });
});

test('no token can be read from a tool client', async () => {
  const seen = await withClient(async (client) => {
    await client.request({ method: 'GET', path: '/orders' });
    const reachable = new Set<unknown>();
    const walk = (value: unknown): void => {
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
      if (reachable.has(value)) return;
      reachable.add(value);
      for (const key of Reflect.ownKeys(value)) walk(Reflect.get(value, key));
      const prototype = Object.getPrototypeOf(value) as object | null;
      if (prototype !== Object.prototype && prototype !== Function.prototype) walk(prototype);
    };
    walk(client);
    return { members: Object.keys(client), frozen: Object.isFrozen(client), text: inspectAll(reachable) };
  });
  expect(seen.members.sort()).toEqual(['credentials', 'fetch', 'identity', 'request']);
  expect(seen.frozen).toBe(true);
  expect(seen.text).not.toContain(token);
});

function inspectAll(values: ReadonlySet<unknown>): string {
  return [...values]
    .flatMap((value) => Reflect.ownKeys(value as object).map((key) => Reflect.get(value as object, key)))
    .filter((value) => typeof value === 'string')
    .join('\n');
}
