import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeModel } from '../support/fake-model.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

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
});

describe('With default credentials', () => {
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
  test('if nothing listens at the address of the API', async () => {
    const closed = createServer();
    const port = await listenOnFreePort(closed);
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
