import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { createDownstream } from '../../../../src/daemon/tools/downstream/client.ts';
import { createDefaultToken } from '../../../../src/daemon/tools/downstream/default-token.ts';
import { TokenFailure } from '../../../../src/daemon/tools/downstream/token-cache.ts';
import { FakeApi, type FakeApiOptions, signToken } from '../../../support/fake-api.ts';

const secret = 'a secret of the tests that is long enough';
const HOUR = 3_600_000;
let api: FakeApi;
let now = Date.now();

async function start(options: Partial<FakeApiOptions> = {}) {
  await api?.close();
  api = await FakeApi.start({ secret, ...options });
  return defaultToken();
}

function defaultToken(password = 'service-password') {
  return createDefaultToken({
    downstream: createDownstream({ baseUrl: api.url, timeoutMs: 5_000 }),
    email: 'service@example.com',
    password: new Secret(password),
    clock: { now: () => now },
  });
}

const asked = () => api.seen('/authentication_token').length;

beforeEach(async () => {
  now = Date.now();
  api = await FakeApi.start({ secret });
});
afterEach(() => api.close());

test('the default token is requested with e-mail and password as JSON', async () => {
  await defaultToken().get();
  expect(api.seen('/authentication_token')).toMatchObject([
    { method: 'POST', bearer: null, body: { email: 'service@example.com', password: 'service-password' } },
  ]);
});

test('the default token is read from `token` if present, otherwise from `access_token`', async () => {
  api.misbehave('/authentication_token', { status: 200, body: { access_token: 'opaque-1' } });
  expect((await defaultToken().get()).reveal()).toBe('opaque-1');
  api.misbehave('/authentication_token', {
    status: 200,
    body: { token: 'opaque-2', access_token: 'opaque-1' },
  });
  expect((await defaultToken().get()).reveal()).toBe('opaque-2');
});

describe('the cache of the default token', () => {
  test('keeps a token until 5 minutes before `exp`', async () => {
    const source = await start({ tokenLife: 3600 });
    const token = await source.get();
    now += HOUR - 302_000;
    expect(await source.get()).toBe(token);
    now += 3_000;
    expect(await source.get()).not.toBe(token);
    expect(asked()).toBe(2);
  });

  test.each([
    { body: { token: 'an-opaque-one' } },
    { body: { token: signToken({ sub: 'service' }, secret) } },
  ])('treats a token without `exp` as valid for 24 hours: $body.token', async ({ body }) => {
    api.misbehave('/authentication_token', { status: 200, body });
    const source = defaultToken();
    await source.get();
    now += 24 * HOUR - 301_000;
    await source.get();
    expect(asked()).toBe(1);
    now += 2_000;
    await source.get();
    expect(asked()).toBe(2);
  });

  test('returns a token that expires within 5 minutes to the calls that wait for it, but does not keep it', async () => {
    const source = await start({ tokenLife: 299 });
    await Promise.all([source.get(), source.get()]);
    expect(asked()).toBe(1);
    await source.get();
    expect(asked()).toBe(2);
  });

  test('does not request tokens repeatedly if they have already expired when they arrive', async () => {
    const source = await start({ tokenLife: -60 });
    await Promise.all([source.get(), source.get()]);
    await source.get();
    expect(asked()).toBe(1);
  });
});

test('fifty simultaneous calls cause one request for the token', async () => {
  const source = defaultToken();
  const tokens = await Promise.all(Array.from({ length: 50 }, () => source.get()));
  expect(new Set(tokens).size).toBe(1);
  expect(asked()).toBe(1);
});

test('a call that is aborted does not affect the other calls', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  api.misbehave('/authentication_token', { wait: promise });
  const source = defaultToken();
  const controller = new AbortController();
  const first = source.get(controller.signal);
  const second = source.get(new AbortController().signal);
  controller.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  resolve();
  expect((await second).reveal()).toContain('.');
  expect(asked()).toBe(1);
});

test('a failed request fails all calls that wait for it, and the next call makes a new request', async () => {
  api.misbehave('/authentication_token', { status: 500 }, 1);
  const source = defaultToken();
  const failure = {
    reason: 'default_token_failed',
    message: 'Signing in to the business API is not possible at the moment.',
  };
  const waiting = [source.get(), source.get()];
  for (const one of waiting) await expect(one).rejects.toMatchObject(failure);
  expect(asked()).toBe(1);
  expect((await source.get()).reveal()).toContain('.');
  expect(asked()).toBe(2);
});

test('wrong credentials are reported as the cause', async () => {
  await expect(defaultToken('wrong').get()).rejects.toMatchObject({
    reason: 'default_credentials_refused',
    message: 'The business API does not accept the default credentials of this service.',
  });
});

test.each([400, 403])('credentials that are refused with %s are reported as the cause', async (status) => {
  api.misbehave('/authentication_token', { status, body: {} });
  await expect(defaultToken().get()).rejects.toMatchObject({ reason: 'default_credentials_refused' });
});

test('without credentials, no token is requested', async () => {
  const source = createDefaultToken({
    downstream: createDownstream({ baseUrl: api.url, timeoutMs: 5_000 }),
    email: undefined,
    password: undefined,
    clock: { now: () => now },
  });
  const error = await source.get().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TokenFailure);
  expect(error).toMatchObject({
    reason: 'default_credentials_missing',
    message: 'This service has no default credentials for the business API.',
  });
  expect(asked()).toBe(0);
});

test('a token that was refused is replaced once, however many calls report the refusal', async () => {
  const source = defaultToken();
  const old = await source.get();
  source.refused(old);
  const renewed = await source.get();
  source.refused(old);
  expect(await source.get()).toBe(renewed);
  expect(asked()).toBe(2);
});
