import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeModel } from '../support/fake-model.ts';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests agentd-api(7), "Credentials".

const WHO = 'Who am I?';

let shop: Shop;
beforeAll(async () => {
  shop = await startShop({ env: { API_TIMEOUT_SECONDS: '1', LOG_LEVEL: 'DEBUG' } });
});
afterEach(() => {
  shop.api.behave();
  shop.api.requests.length = 0;
});
afterAll(() => shop.stop());

const logins = () => shop.api.seen('/authentication_token');

let requests = 0;
async function say(message: string, options: { bearer?: string; session_id?: string } = {}) {
  const { bearer, session_id } = options;
  const request_id = `credentials-${++requests}`;
  const answer = await shop.say(
    { user_id: 'visitor', message, ...(session_id === undefined ? {} : { session_id }) },
    { headers: { 'X-Request-Id': request_id }, ...(bearer === undefined ? {} : { bearer }) },
  );
  expect(answer.status).toBe(200);
  const { response, session_id: id } = answer.body as { response: string; session_id: string };
  return { response, session_id: id, request_id };
}

/** Returns the log line about the choice of credentials for this request. */
const choice = (request_id: string) =>
  shop.daemon.logged(
    (line) => line.request_id === request_id && /^tool uses default credentials/.test(String(line.msg)),
  );

describe('the credentials of a tool', () => {
  test("are the user's token as bearer if all checks pass, for GET /users?userEmail=…", async () => {
    const bearer = await token();
    const { response } = await say(WHO, { bearer });
    expect(shop.api.requests).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/users',
        query: { userEmail: 'ada@example.com' },
        bearer,
      }),
    ]);
    expect(response).toContain('A-1001');
  });

  test('are the default credentials, with a log line, if the session metadata has no jwt_context', async () => {
    const { request_id } = await say('ada@example.com');
    expect(shop.api.seen('/users')).toEqual([
      expect.objectContaining({ sub: 'service', query: { userEmail: 'ada@example.com' } }),
    ]);
    expect(await choice(request_id)).toMatchObject({ level: 'info', reason: 'no_jwt_context' });
  });

  test('are the credentials of the right person in each of several parallel messages', async () => {
    const people = Array.from({ length: 20 }, (_, index) => `person-${index}`);
    await Promise.all(
      people.map(async (sub) => {
        await say(WHO, { bearer: await token({ sub }) });
      }),
    );
    const seen = shop.api.seen('/users');
    expect(seen).toHaveLength(20);
    for (const { sub, query } of seen) expect(query.userEmail).toBe(`${sub}@example.com`);
  });
});

describe('each call checks again', () => {
  let model: FakeModel;
  let chat: Shop;
  beforeAll(async () => {
    model = await FakeModel.start();
    chat = await startShop({ env: { AGENT_BASE_URL: model.url, AGENT_MODEL: 'scripted' } });
  });
  afterAll(async () => {
    await chat.stop();
    await model.close();
  });

  /** Sends a message that looks up two people. `meanwhile` runs between the two calls. */
  async function lookUpTwice(session_id: string, bearer: string, meanwhile: () => Promise<void>) {
    const call = (email: string) => ({ tools: [{ name: 'get_user', args: { email } }] });
    model.script([call('one@example.com'), call('two@example.com'), { text: ['Done.'] }]);
    chat.api.requests.length = 0;
    const held = gate();
    chat.api.misbehave('/users', { wait: held.opened }, 1);
    const asked = chat.api.next('/users');
    const answered = chat.say(
      { user_id: 'visitor', message: 'Look them up', session_id },
      { bearer, headers: { 'X-Request-Id': session_id } },
    );
    await asked;
    await meanwhile();
    held.open();
    expect((await answered).body.response).toBe('Done.');
    return chat.lookedUpAs();
  }

  test('whether the session exists: if it was ended in the meantime, the call uses default credentials, with a warning', async () => {
    const subs = await lookUpTwice('ended', await token(), async () => {
      expect((await chat.run('sessions', 'end', 'ended')).code).toBe(0);
    });
    expect(subs).toEqual(['ada', 'service']);
    await chat.daemon.logged(
      (line) => line.level === 'warn' && line.reason === 'session_not_found' && line.request_id === 'ended',
    );
  });

  test('whether the stored token has expired: if it has expired in the meantime, the call uses default credentials, with a warning', async () => {
    const bearer = await token({ ttl: 3 });
    const subs = await lookUpTwice('lapsed', bearer, () => lapsed(bearer));
    expect(subs[1]).toBe('service');
    expect(chat.api.seen('/users')[0]?.bearer).toBe(bearer);
    await chat.daemon.logged(
      (line) =>
        line.level === 'warn' && line.reason === 'stored_token_expired' && line.request_id === 'lapsed',
    );
  });
});

describe("a 401 to the user's token", () => {
  test('makes that call fall back to default credentials once, with a warning', async () => {
    const bearer = await token({ claims: { jti: 'revoked' } });
    shop.api.revoke(bearer);
    const { response, request_id, session_id } = await say(WHO, { bearer });
    expect(shop.lookedUpAs()).toEqual([null, 'service']);
    expect(response).not.toContain('A-1001');
    await shop.daemon.logged(
      (line) =>
        line.level === 'warn' &&
        line.request_id === request_id &&
        line.msg === "the business API refused the user's token: default credentials for this call",
    );
    // The fallback is only for that call: the person stays signed in at the daemon.
    expect(await shop.session(session_id)).toMatchObject({ state: 'ValidJWT' });
  });

  test('does not cause endless retries if the default token is refused, too', async () => {
    await say('ada@example.com');
    shop.api.requests.length = 0;
    shop.api.misbehave('/users', { status: 401 });
    const { response } = await say(WHO, { bearer: await token() });
    expect(response).not.toContain('A-1001');
    // The requests have the user's token, the default token, and a new default token.
    expect(shop.api.seen('/users')).toHaveLength(3);
    expect(logins()).toHaveLength(1);
  });
});

describe('The default token', () => {
  test('is fetched once for 50 messages in parallel, by POST /authentication_token with email and password as JSON, and is cached', async () => {
    const own = await startShop({ env: { AGENT_CONCURRENCY: '64' } });
    const slow = gate();
    try {
      own.api.misbehave('/authentication_token', { wait: slow.opened }, 1);
      const asked = own.api.next('/authentication_token');
      const answers = Array.from({ length: 50 }, (_, index) =>
        own.say({ user_id: `visitor-${index}`, message: 'ada@example.com' }),
      );
      await asked;
      slow.open();
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
      await own.say({ user_id: 'visitor', message: 'two@example.com' });
      expect(own.api.seen('/authentication_token')).toEqual([
        expect.objectContaining({
          method: 'POST',
          bearer: null,
          body: { email: 'service@example.com', password: 'service-password' },
        }),
      ]);
      expect(own.lookedUpAs()).toEqual(Array(51).fill('service'));
    } finally {
      await own.stop();
    }
  });

  test('is read from `access_token` if the response has no `token`', async () => {
    shop.api.revokeDefaultTokens();
    shop.api.misbehave('/authentication_token', {
      status: 200,
      body: { access_token: 'opaque-default-token' },
    });
    await say('ada@example.com');
    expect(shop.api.seen('/users').at(-1)?.bearer).toBe('opaque-default-token');
  });

  test('is not used in the last 5 minutes before its exp', async () => {
    shop.api.revokeDefaultTokens();
    shop.api.tokenLife = 299;
    await say('one@example.com');
    shop.api.requests.length = 0;
    await say('two@example.com');
    expect(logins()).toHaveLength(1);
    expect(shop.lookedUpAs()).toEqual(['service']);
  });

  test('is fetched again once after a 401', async () => {
    await say('ada@example.com');
    shop.api.requests.length = 0;
    shop.api.revokeDefaultTokens();
    await say('ada@example.com');
    expect(logins()).toHaveLength(1);
    expect(shop.lookedUpAs()).toEqual([null, 'service']);
  });
});

describe('With default credentials', () => {
  test('the question "Who am I?" causes no call, and the answer says that sign-in is needed', async () => {
    const { response } = await say(WHO);
    expect(response).toMatch(/sign in/i);
    expect(shop.api.requests).toEqual([]);
  });

  test('a known and an unknown address get the same answer, and the call is made as documented', async () => {
    const [known, unknown] = [await say('ada@example.com'), await say('eve@example.com')];
    expect(known.response).toBe(unknown.response);
    expect(known.response).not.toMatch(/Lovelace|A-1001/);
    expect(shop.api.seen('/users').map(({ query, sub }) => [query.userEmail, sub])).toEqual([
      ['ada@example.com', 'service'],
      ['eve@example.com', 'service'],
    ]);
  });

  test('the agent sees the fields of API_PUBLIC_USER_FIELDS and no others', async () => {
    const open = await startShop({ env: { API_PUBLIC_USER_FIELDS: 'name' } });
    try {
      const { body } = await open.say({ user_id: 'visitor', message: 'ada@example.com' });
      expect(body.response).toContain('Ada Lovelace');
      expect(body.response).not.toContain('A-1001');
    } finally {
      await open.stop();
    }
  });
});

describe('The conversation continues', () => {
  test('if the API does not answer within API_TIMEOUT_SECONDS', async () => {
    shop.api.misbehave('/users', 'hang', 1);
    const { response, session_id, request_id } = await say(WHO, { bearer: await token() });
    expect(response).toContain('I could not look that up. The business API did not answer in time.');
    await shop.daemon.logged((line) => line.request_id === request_id && line.reason === 'timeout');
    const lines = shop.daemon.stderr().split('\n');
    const line = lines.find((one) => one.includes(request_id) && one.includes('"reason":"timeout"')) ?? '';
    // The line has the request id only once. It has no stack trace, because the call was only too slow.
    expect([line.match(/"request_id":/g), line.includes('"stack"')]).toEqual([['"request_id":'], false]);
    expect((await say(WHO, { session_id })).response).toContain('A-1001');
  });

  test('if the API answers 500, something other than JSON, or too much', async () => {
    for (const how of [{ status: 500 }, { status: 200, body: '<html>' }, 'huge'] as const) {
      shop.api.misbehave('/users', how, 1);
      const { response } = await say(WHO, { bearer: await token() });
      expect(response).toContain('I could not look that up.');
    }
  });

  test('if the default credentials are refused, with a warning in the log', async () => {
    shop.api.revokeDefaultTokens();
    shop.api.misbehave('/authentication_token', { status: 401 });
    const { request_id } = await say('ada@example.com');
    await shop.daemon.logged(
      (line) =>
        line.level === 'warn' &&
        line.request_id === request_id &&
        line.reason === 'default_credentials_refused',
    );
    // A user's own token does not need the default credentials.
    expect((await say(WHO, { bearer: await token() })).response).toContain('A-1001');
  });

  test('if nothing listens at the address of the API', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const down = await startShop({ env: { API_BASE_URL: `http://127.0.0.1:${port}` } });
    try {
      const answer = await down.say({ user_id: 'visitor', message: WHO }, { bearer: await token() });
      expect(answer.status).toBe(200);
      expect(answer.body.response).toContain('The business API cannot be reached.');
    } finally {
      await down.stop();
    }
  });
});

describe('No token goes to another origin', () => {
  test('a redirect to another origin is not followed', async () => {
    const bearers: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      bearers.push(request.headers.authorization);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        shop.api.misbehave('/users', { redirect: `http://127.0.0.1:${port}/users`, status }, 1);
        const { response } = await say(WHO, { bearer: await token() });
        expect(response).toContain('I could not look that up.');
      }
      expect(bearers).toEqual([]);
    } finally {
      other.close();
    }
  });

  test('no token gets into a prompt, a reply or a log line, even if the API echoes it', async () => {
    const bearer = await token();
    shop.api.misbehave(
      '/users',
      { status: 200, body: { email: 'ada@example.com', echo: `Bearer ${bearer}` } },
      1,
    );
    const { response, session_id } = await say(WHO, { bearer });
    expect(response).not.toContain(bearer.split('.')[1]);
    await say('ada@example.com');
    const { stdout } = await shop.run('sessions', 'show', session_id);
    for (const text of [stdout, shop.daemon.stderr(), shop.daemon.stdout()]) {
      expect(text).not.toMatch(/eyJ[A-Za-z0-9_-]{10,}/);
      expect(text).not.toContain('service-password');
    }
  });
});
