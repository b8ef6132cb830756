import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listenOnFreePort } from '../support/free-ports.ts';
import { type Shop, startShop } from '../support/shop.ts';
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

describe('With default credentials', () => {
  test('the agent sees the fields of API_PUBLIC_USER_FIELDS and no others', async () => {
    const open = await startShop({ env: { API_PUBLIC_USER_FIELDS: 'name' } });
    const { body } = await open.say({ user_id: 'visitor', message: 'ada@example.com' });
    expect(body.response).toContain('Ada Lovelace');
    expect(body.response).not.toContain('A-1001');
  });
});

describe('The conversation continues', () => {
  test('if nothing listens at the address of the API', async () => {
    const closed = createServer();
    const port = await listenOnFreePort(closed);
    closed.close();
    await once(closed, 'close');
    const down = await startShop({ env: { API_BASE_URL: `http://127.0.0.1:${port}` } });
    const answer = await down.say({ user_id: 'visitor', message: WHO }, { bearer: await token() });
    expect(answer.status).toBe(200);
    expect(answer.body.response).toContain('The business API cannot be reached.');
  });
});

describe('No token goes to another origin', () => {
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
