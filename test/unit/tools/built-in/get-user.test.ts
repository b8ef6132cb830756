import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ToolAnswer } from '../../../../src/agent/index.ts';
import { builtInTools } from '../../../../src/daemon/tools/registry.ts';
import { ALICE, BOB, FakeApi } from '../../../support/fake-api.ts';
import { anonymous, secret, signedIn, token } from '../../../support/people-of-api.ts';
import type { TestContext } from '../../../support/request-context.ts';
import { accessTo, bindOne } from '../../../support/tools.ts';

let api: FakeApi;

beforeEach(async () => {
  api = await FakeApi.start({ secret });
});
afterEach(() => api.close());

const OTHERS = {
  GET_USER: true,
  MEMORY_BACKEND: 'none',
  DATABASE_URL: undefined,
  SESSION_BACKEND: 'sqlite',
} as const;

async function ask(
  args: Record<string, unknown>,
  context: TestContext,
  publicFields: string[] = [],
): Promise<ToolAnswer> {
  const [tool] = builtInTools({
    ...OTHERS,
    API_BASE_URL: api.url,
    API_PUBLIC_USER_FIELDS: publicFields,
  }).list();
  if (!tool) expect.fail('there is no tool');
  const access = accessTo(api.url);
  const { trace, signal } = context;
  return bindOne(tool, { context, access, trace, signal }).bound.call(args);
}

const looked = () => api.seen('/users').map(({ query, sub }) => [query.userEmail, sub]);

test.each([
  ['without API_BASE_URL', { API_BASE_URL: undefined }],
  ['with GET_USER=off', { GET_USER: false }],
])('get_user does not exist %s', (_, setting) => {
  const settings = { ...OTHERS, API_BASE_URL: api.url, API_PUBLIC_USER_FIELDS: [], ...setting };
  expect(
    builtInTools(settings)
      .list()
      .map(({ name }) => name),
  ).toEqual(['my_actions']);
});

test('get_user says in its policy which fields are public', () => {
  const { list } = builtInTools({ ...OTHERS, API_BASE_URL: api.url, API_PUBLIC_USER_FIELDS: ['name'] });
  expect(list()[0]).toMatchObject({ name: 'get_user', public: ['name'] });
});

describe('get_user with the token of a user', () => {
  test('without an address looks up the e-mail address in the token', async () => {
    expect(await ask({}, signedIn())).toEqual({ ok: true, result: { user: ALICE } });
    expect(looked()).toEqual([[ALICE.email, 'user-1']]);
  });

  test("looks up another address with the user's own token", async () => {
    expect(await ask({ email: ` ${BOB.email} ` }, signedIn())).toEqual({ ok: true, result: { user: BOB } });
    expect(looked()).toEqual([[BOB.email, 'user-1']]);
  });

  test('reports that an unknown address is not found', async () => {
    const result = { found: false, message: 'The business system shows no such user.' };
    expect(await ask({ email: 'nobody@example.com' }, signedIn())).toEqual({ ok: true, result });
    api.misbehave('/users', { status: 200, body: [] });
    expect(await ask({ email: 'nobody@example.com' }, signedIn())).toEqual({ ok: true, result });
  });

  test.each([
    ['the user as an object', ALICE],
    ['a list of users', [ALICE]],
    ['a list in `member`', { member: [ALICE] }],
    ['a list in `hydra:member`', { '@type': 'Collection', 'hydra:member': [ALICE], 'hydra:totalItems': 1 }],
    ['a list in `data`', { data: [ALICE] }],
    ['a list in `items`', { items: [ALICE] }],
    ['a list in `users`', { users: [BOB, ALICE] }],
  ])('accepts %s in the answer', async (_, body) => {
    api.misbehave('/users', { status: 200, body });
    expect(await ask({}, signedIn())).toEqual({ ok: true, result: { user: ALICE } });
  });

  test('does not mistake a user that has `items` for a collection', async () => {
    const user = { email: ALICE.email, items: [{ id: 1 }] };
    api.misbehave('/users', { status: 200, body: user });
    expect(await ask({}, signedIn())).toEqual({ ok: true, result: { user } });
  });

  test('shows all users of the answer if none has exactly that address', async () => {
    api.misbehave('/users', { status: 200, body: [ALICE, BOB] });
    expect(await ask({ email: 'example.com@x' }, signedIn())).toEqual({
      ok: true,
      result: { users: [ALICE, BOB] },
    });
  });

  test.each([
    [{ status: 500 }, 'The business system cannot answer at the moment (status 500).'],
    [{ status: 403 }, 'The business system does not allow this look-up.'],
    [{ status: 200, body: 'no json' }, 'The business API answered with something that is not JSON.'],
    ['huge', 'The business API answered with more data than can be used.'],
  ] as const)('explains a failure of the API: %o', async (how, message) => {
    api.misbehave('/users', how);
    expect(await ask({}, signedIn())).toEqual({ ok: false, message });
  });

  test("falls back to default credentials if the API refuses the user's token", async () => {
    api.revoke(token);
    expect(await ask({}, signedIn())).toMatchObject({ ok: true, result: { sign_in_needed: true } });
    expect(looked()).toEqual([
      [ALICE.email, null],
      [ALICE.email, 'service'],
    ]);
  });
});

describe('get_user with default credentials', () => {
  const hidden = {
    ok: true,
    result: {
      sign_in_needed: true,
      message:
        'Personal data needs sign-in. Without it, the answer does not even show whether such a person exists.',
    },
  };

  test('makes no call without an address, and says that sign-in is needed', async () => {
    expect(await ask({}, anonymous())).toEqual({
      ok: true,
      result: { sign_in_needed: true, message: 'Sign-in is needed to know who is asking.' },
    });
    expect(api.requests).toEqual([]);
  });

  test('makes the call, and gives the same answer whether or not the person exists', async () => {
    expect(await ask({ email: ALICE.email }, anonymous())).toEqual(hidden);
    expect(await ask({ email: 'nobody@example.com' }, anonymous())).toEqual(hidden);
    expect(looked()).toEqual([
      [ALICE.email, 'service'],
      ['nobody@example.com', 'service'],
    ]);
  });

  test.each([
    { status: 200, body: [] },
    { status: 200, body: [BOB] },
    { status: 200, body: [BOB, { ...BOB, id: 'user-3' }] },
    // Nothing says whose entries these are.
    { status: 200, body: [{ name: 'Ada' }, { name: 'Bob' }] },
    { status: 200, body: 'no json' },
    { status: 400 },
    { status: 403 },
    { status: 404 },
    { status: 404, body: { name: 'Ada', status: 'left' } },
    { redirect: 'https://elsewhere.example/' },
    'huge',
  ] as const)('also gives the same answer if the API answers %o', async (how) => {
    api.misbehave('/users', how);
    expect(await ask({ email: ALICE.email }, anonymous(), ['name'])).toEqual(hidden);
  });

  test.each([503, 429])('reports an outage of the API: %d', async (status) => {
    api.misbehave('/users', { status });
    expect(await ask({ email: ALICE.email }, anonymous())).toEqual({
      ok: false,
      message: `The business system cannot answer at the moment (status ${status}).`,
    });
  });

  test('shows only the public fields', async () => {
    expect(await ask({ email: ALICE.email }, anonymous(), ['name', 'city'])).toEqual({
      ok: true,
      result: {
        sign_in_needed: true,
        message: 'These are public fields; the rest needs sign-in.',
        user: { name: ALICE.name },
      },
    });
  });

  test('answers for a person who has none of the public fields as if there were no such person', async () => {
    expect(await ask({ email: ALICE.email }, anonymous(), ['city'])).toEqual(hidden);
    expect(await ask({ email: 'nobody@example.com' }, anonymous(), ['city'])).toEqual(hidden);
  });

  test('does not show inherited members of objects', async () => {
    expect(await ask({ email: ALICE.email }, anonymous(), ['constructor', '__proto__'])).toEqual(hidden);
  });
});

test.each(['nobody', 'a@b@c', `${'a'.repeat(250)}@x.io`, 'a b@example.com', 'a\u0000@example.com'])(
  'get_user makes no call for a text that is not an e-mail address: %j',
  async (email) => {
    expect(await ask({ email }, signedIn())).toEqual({
      ok: false,
      message: 'That is not an e-mail address.',
    });
    expect(api.requests).toEqual([]);
  },
);
