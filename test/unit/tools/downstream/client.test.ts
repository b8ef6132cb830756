import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { createDownstream, DownstreamFailure } from '../../../../src/daemon/tools/downstream/client.ts';
import { FakeApi, signToken } from '../../../support/fake-api.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';

const secret = 'a secret of the tests that is long enough';
const token = new Secret(signToken({ sub: 'user-1' }, secret));
const look = { method: 'GET', path: '/users', query: [['userEmail', 'alice@example.com']], token } as const;
let api: FakeApi;
let elsewhere: FakeApi;

beforeAll(async () => {
  api = await FakeApi.start({ secret, prefix: '/api/v2' });
  elsewhere = await FakeApi.start({ secret });
});
afterEach(() => {
  api.behave();
  api.requests.length = 0;
});
afterAll(async () => {
  await api.close();
  await elsewhere.close();
});

const client = (timeoutMs = 5_000) => createDownstream({ baseUrl: `${api.url}/`, timeoutMs });

const toHex = (text: string) => Buffer.from(text).toString('hex');

async function failureOf(work: Promise<unknown>): Promise<{ reason: string; message: string }> {
  const error = await work.then(
    () => expect.fail('the call should have failed'),
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DownstreamFailure);
  const { reason, message } = error as DownstreamFailure;
  return { reason, message };
}

test('a call is sent to a path below the base URL, with the bearer token and an encoded query', async () => {
  const query = { userEmail: 'a+b&c=d#e@example.com' };
  const response = await client().send({ ...look, query: Object.entries(query) });
  expect(response.status).toBe(404);
  expect(api.requests).toMatchObject([{ method: 'GET', path: '/users', query, sub: 'user-1' }]);
});

test('dot segments in a path cannot leave the path of the base URL', async () => {
  await expect(client().send({ ...look, path: '/../../secret' })).rejects.toThrow();
  expect(api.requests).toEqual([]);
});

test('a failed call returns the status, and the body if it is JSON', async () => {
  api.misbehave('/users', { status: 500, body: { error: 'x' } });
  expect(await client().send(look)).toEqual({ status: 500, body: { error: 'x' } });
  api.misbehave('/users', { status: 502, body: '<html>bad gateway</html>' });
  expect(await client().send(look)).toEqual({ status: 502, body: null });
});

test('a long number in an answer keeps its digits, because rounding could turn an id into another id', async () => {
  api.misbehave('/users', { status: 200, body: '{"id":9007199254740993,"age":41}' });
  expect((await client().send(look)).body).toEqual({ id: '9007199254740993', age: 41 });
});

test('an answer that is not JSON is a failure', async () => {
  api.misbehave('/users', { status: 200, body: '<html>welcome</html>' });
  expect(await failureOf(client().send(look))).toEqual({
    reason: 'not_json',
    message: 'The business API answered with something that is not JSON.',
  });
});

test('an answer that is not JSON is not quoted in the error, which is logged', async () => {
  const key = 'opaque-key';
  for (const body of [key, `{"customer": Ada Lovelace`]) {
    api.misbehave('/users', { status: 200, body });
    const failure = await client()
      .send(look)
      .catch((error: unknown) => error);
    expect(inspect(failure)).toContain('not JSON');
    expect(inspect(failure)).not.toMatch(/opaque|Ada/);
  }
});

test('an answer that is nested too deeply is not parsed, because that would hold up all requests', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const [deep, deepest] = [nested(900), nested(400_000)];
  api.misbehave('/users', { status: 200, body: deep });
  expect((await client().send(look)).body).toEqual(JSON.parse(deep));
  api.misbehave('/users', { status: 200, body: deepest });
  expect((await client().send({ ...look, expects: 'text' })).body).toBe(deepest);
  expect(await failureOf(client().send(look))).toMatchObject({ reason: 'not_json' });
  api.misbehave('/users', { status: 422, body: deepest });
  expect(await client().send(look)).toEqual({ status: 422, body: null });
});

test('an empty body is returned as null', async () => {
  api.misbehave('/users', { status: 200, body: '' });
  expect(await client().send(look)).toEqual({ status: 200, body: null });
});

test('at most 1 MiB of an answer is read', async () => {
  api.misbehave('/users', 'huge');
  expect(await failureOf(client().send(look))).toEqual({
    reason: 'too_large',
    message: 'The business API answered with more data than can be used.',
  });
});

test('a call fails with a timeout if the API does not answer', async () => {
  api.misbehave('/users', 'hang');
  expect(await failureOf(client(50).send(look))).toEqual({
    reason: 'timeout',
    message: 'The business API did not answer in time.',
  });
});

test('a call of an API that is down fails as unreachable', async () => {
  const gone = await FakeApi.start({ secret });
  const baseUrl = gone.url;
  await gone.close();
  expect(await failureOf(createDownstream({ baseUrl, timeoutMs: 5_000 }).send(look))).toEqual({
    reason: 'unreachable',
    message: 'The business API cannot be reached.',
  });
});

test('a call whose connection breaks may have been carried out', async () => {
  const server = createServer(({ socket }) => socket.destroy());
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  const sending = createDownstream({ baseUrl, timeoutMs: 5_000 }).send({ ...look, method: 'POST' });
  await expect(sending).rejects.toMatchObject({ reason: 'unreachable', reached: true });
});

test('the signal of the message aborts the call with its reason', async () => {
  api.misbehave('/users', 'hang');
  const controller = new AbortController();
  const reason = new Error('the message has ended');
  const work = client().send({ ...look, signal: controller.signal });
  controller.abort(reason);
  await expect(work).rejects.toBe(reason);
});

test('a redirect within the origin is followed for GET, with the bearer token', async () => {
  api.misbehave('/users', { redirect: '/api/v2/users?userEmail=alice@example.com' }, 3);
  expect(await client().send(look)).toMatchObject({ status: 200, body: { name: 'Alice Example' } });
  expect(api.requests.map((request) => request.sub)).toEqual(['user-1', 'user-1', 'user-1', 'user-1']);
});

test('the fourth redirect is refused', async () => {
  api.misbehave('/users', { redirect: '/api/v2/users' });
  expect((await failureOf(client().send(look))).reason).toBe('redirect_refused');
  expect(api.requests).toHaveLength(4);
});

test('a redirect to another origin is refused, and no request reaches that origin', async () => {
  api.misbehave('/users', { redirect: `${elsewhere.url}/users` });
  expect(await failureOf(client().send(look))).toEqual({
    reason: 'redirect_refused',
    message: 'The business API answered with a redirect that is not followed.',
  });
  expect(elsewhere.requests).toEqual([]);
});

test('a redirect of a POST is refused, even within the origin', async () => {
  api.misbehave('/authentication_token', { redirect: '/api/v2/users', status: 307 });
  const post = { method: 'POST', path: '/authentication_token', body: {}, token: null } as const;
  expect((await failureOf(client().send(post))).reason).toBe('redirect_refused');
  expect(api.requests).toHaveLength(1);
});

test('a bearer token that the API echoes is masked in the result', async () => {
  const opaque = new Secret('opaque-token-value');
  api.misbehave('/users', { status: 200, body: { seen: `Bearer ${opaque.reveal()}` } });
  expect(await client().send({ ...look, token: opaque })).toEqual({
    status: 200,
    body: { seen: 'Bearer [token]' },
  });
});

test.each([
  ['as it is', (value) => value],
  ['in JSON within JSON', (value) => JSON.stringify({ token: value }).replaceAll('/', '\\/')],
  ['with escapes of JSON', (value) => value.replace(/\W/g, (sign) => `\\u00${toHex(sign).toUpperCase()}`)],
  ['in HTML', (value) => value.replace(/\W/g, (sign) => `&#x${toHex(sign)};`)],
  ['in HTML with names', (value) => value.replace('&', '&amp;amp;').replaceAll('>', '&gt;')],
  ['in an address', (value) => encodeURIComponent(value).toLowerCase()],
  ['in an address within an address', (value) => encodeURIComponent(encodeURIComponent(value))],
  ['in hexadecimal', (value) => toHex(value).toUpperCase()],
  ...['', 'a', 'ab'].flatMap((before): [string, (value: string) => string][] => [
    [`in base64 after "${before}"`, (value) => Buffer.from(`${before}${value}?`).toString('base64')],
    [`in base64url after "${before}"`, (value) => Buffer.from(`${before}${value}?`).toString('base64url')],
  ]),
] satisfies [string, (value: string) => string][])(
  'a token that the API echoes %s is masked in the result',
  async (_form, write) => {
    const opaque = 'opaque/token+of==&~ada>>>???';
    const written = write(opaque);
    api.misbehave('/users', { status: 400, body: { detail: `You sent ${written}.`, [written]: 1 } });
    const { body } = await client().send({ ...look, token: new Secret(opaque) });
    expect(JSON.stringify(body)).toMatch(
      /^\{"detail":"You sent .{0,20}\[token\].{0,6}\.",".{0,20}\[token\].{0,6}":1\}$/,
    );
  },
);

test('a token in a header of the answer is masked before a long header is cut', async () => {
  const link = `<https://api.example/?page=${'2'.repeat(960)}&t=opaque-token-of-ada>`;
  api.misbehave('/users', { status: 200, body: [], headers: { link } });
  const { headers } = await client().send({ ...look, token: new Secret('opaque-token-of-ada') });
  expect(headers?.link).toContain('page=2');
  expect(headers?.link).not.toContain('opaque');
});

test('the signature of a token that the API echoes in parts is masked in the result', async () => {
  const token = new Secret(`${'h'.repeat(20)}.${'p'.repeat(40)}.${'s'.repeat(43)}`);
  api.misbehave('/users', { status: 200, body: { seen: token.reveal().split('.') } });
  expect((await client().send({ ...look, token })).body).toEqual({
    seen: ['h'.repeat(20), 'p'.repeat(40), '[token]'],
  });
});
