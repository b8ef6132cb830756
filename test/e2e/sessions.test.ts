import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests agentd-identity(7), "States of a session", and agentd-message(7), "Sessions", as webchat users and an operator
// see them.

const WHO = 'Who am I?';

let shop: Shop;
beforeAll(async () => {
  shop = await startShop();
});
afterAll(() => shop.stop());

/** Starts a session with a generated id, signed in as Ada. @returns the id */
async function signedIn(user_id = 'visitor'): Promise<string> {
  const { body } = await shop.say({ user_id, message: WHO }, { bearer: await token() });
  expect(body.response).toContain('Ada Lovelace');
  return body.session_id;
}

/** Sends a message that causes a lookup. @returns the `sub` of the token in the lookup */
async function actsAs(body: Record<string, unknown>, bearer?: string): Promise<string | null | undefined> {
  const before = shop.lookedUpAs().length;
  const answer = await shop.say(
    { message: 'Who is ada@example.com?', ...body },
    bearer === undefined ? {} : { bearer },
  );
  expect(answer.status).toBe(200);
  const since = shop.lookedUpAs().slice(before);
  expect(since).toHaveLength(1);
  return since[0];
}

describe('The token context of a session', () => {
  test('a first message without a token creates a session in the state NoJWT, which is stored together with the turn', async () => {
    const slow = gate();
    shop.api.misbehave('/users', { wait: slow.opened }, 1);
    const asked = shop.api.next('/users');
    const answered = shop.say({ user_id: 'visitor', session_id: 'first', message: 'ada@example.com' });
    await asked;
    expect(await shop.session('first')).toBeNull();
    slow.open();
    expect((await answered).status).toBe(200);
    expect(await shop.session('first')).toMatchObject({
      state: 'NoJWT',
      metadata: { jwt_context: null },
      turns: [{ credentials: 'default', credentials_reason: 'no_token', outcome: 'answered' }],
    });
    expect(shop.lookedUpAs().at(-1)).toBe('service');
  });

  test('an invalid token changes the state to NoJWT, the message is answered, and a warning is logged', async () => {
    const session_id = await signedIn();
    const answer = await shop.say(
      { user_id: 'visitor', session_id, message: WHO },
      {
        bearer: await token({ secret: 'another-secret-of-at-least-256-bits-length' }),
        headers: { 'X-Request-Id': 'invalid-in-session' },
      },
    );
    expect(answer.status).toBe(200);
    expect(answer.body.response).not.toContain('A-1001');
    expect(await shop.session(session_id)).toMatchObject({ state: 'NoJWT', metadata: { jwt_context: null } });
    await shop.daemon.logged(
      (line) =>
        line.level === 'warn' &&
        line.reason === 'Invalid Signature' &&
        line.request_id === 'invalid-in-session',
    );
  });

  test('when a token expires during the session, the state changes to NoJWT, and default credentials are used', async () => {
    const bearer = await token({ ttl: 3 });
    const { body } = await shop.say({ user_id: 'visitor', message: WHO }, { bearer });
    const { session_id } = body;
    expect(body.response).toContain('Ada Lovelace');
    await lapsed(bearer);
    expect(await shop.session(session_id)).toMatchObject({ state: 'NoJWT' });
    const later = await shop.say({ user_id: 'visitor', session_id, message: WHO });
    expect(later.status).toBe(200);
    expect(later.body.response).toContain('Your sign-in has expired');
    expect(later.body.response).not.toContain('A-1001');
    expect((await shop.session(session_id)).turns[1]).toMatchObject({
      credentials: 'default',
      credentials_reason: 'stored_token_expired',
    });
  });
});

describe('A session belongs to its channel user and to its person', () => {
  test('another user_id gets 403 session_forbidden, and the session is not changed', async () => {
    const session_id = await signedIn();
    const before = await shop.session(session_id);
    for (const options of [{}, { bearer: await token() }, { bearer: 'x.y.z' }]) {
      const answer = await shop.say({ user_id: 'eve', session_id, message: WHO }, options);
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({
        code: 'session_forbidden',
        detail: 'This session belongs to someone else.',
      });
    }
    expect(await shop.say({ user_id: 'eve', session_id, message: WHO, jwt_token: null })).toMatchObject({
      status: 403,
    });
    expect(await shop.session(session_id)).toEqual(before);
  });

  test("another person's valid token gets 403, and the session is not changed", async () => {
    const session_id = await signedIn();
    const before = await shop.session(session_id);
    const bearers = [
      await token({ sub: 'grace' }),
      await token({ claims: { tenant_id: 'other' } }),
      await token({ claims: { iss: 'https://other.example' } }),
    ];
    for (const bearer of bearers) {
      const answer = await shop.say({ user_id: 'visitor', session_id, message: WHO }, { bearer });
      expect(answer.status).toBe(403);
      expect(answer.body.code).toBe('session_forbidden');
    }
    expect(await shop.session(session_id)).toEqual(before);
  });
});

describe('In a session with a generated id', () => {
  test('a message without a token uses the stored context', async () => {
    const session_id = await signedIn();
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('ada');
    expect(await actsAs({ user_id: 'visitor', session_id, jwt_token: '' })).toBe('ada');
    expect(await shop.session(session_id)).toMatchObject({ state: 'ValidJWT' });
  });

  test('an explicit null signs out and clears the stored context', async () => {
    const session_id = await signedIn();
    expect(await actsAs({ user_id: 'visitor', session_id, jwt_token: null })).toBe('service');
    expect(await shop.session(session_id)).toMatchObject({ state: 'NoJWT', metadata: { jwt_context: null } });
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('service');
  });
});

describe('messages of one session', () => {
  test('start a new session after `sessions end` while the daemon runs', async () => {
    const session_id = await signedIn();
    expect(await shop.run('sessions', 'end', session_id)).toMatchObject({
      code: 0,
      stdout: `ended ${session_id}\n`,
    });
    expect(await shop.session(session_id)).toBeNull();
    expect((await shop.run('sessions', 'end', session_id)).code).toBe(1);
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('service');
    const anew = await shop.session(session_id);
    // The id does not prove who sends a message, because others may know it.
    expect(anew).toMatchObject({ state: 'NoJWT', owner: null, generated: false });
    expect(anew.turns).toHaveLength(1);
  });
});

describe('SESSION_TTL_SECONDS', () => {
  let brief: Shop;
  beforeAll(async () => {
    brief = await startShop({ env: { SESSION_TTL_SECONDS: '6' } });
  });
  afterAll(() => brief.stop());

  test('starts again with each message that is not refused, and the session is deleted when the time has passed', async () => {
    const own = { user_id: 'visitor', session_id: 'brief', message: 'Hello' };
    const ends = async () => Date.parse((await brief.session('brief')).expires_at);
    await brief.say(own, { bearer: await token() });
    const first = await ends();
    await delay(3000);
    await brief.say(own);
    const second = await ends();
    expect(second - first).toBeGreaterThan(2000);
    await delay(Math.max(0, first - Date.now()) + 10);
    // The first expiry time has passed, but the session still exists.
    expect((await brief.session('brief')).turns).toHaveLength(2);
    expect((await brief.say({ ...own, user_id: 'eve' })).status).toBe(403);
    expect(await ends()).toBe(second);
    await delay(Math.max(0, second - Date.now()) + 10);
    expect(await brief.session('brief')).toBeNull();
    expect(await brief.run('sessions', 'list')).toMatchObject({ code: 0, stdout: '' });
    // The id is free again: nothing of the old session is left, not even its owner.
    expect((await brief.say({ ...own, user_id: 'eve' })).status).toBe(200);
    expect(await brief.session('brief')).toMatchObject({ user_id: 'eve', owner: null, state: 'NoJWT' });
    expect((await brief.session('brief')).turns).toHaveLength(1);
  });
});

describe('Stored tokens', () => {
  const files = (directory: string) =>
    ['agentd.db', 'agentd.db-wal'].map((name) => join(directory, 'state', name));

  test('are in a file that only its owner may read', async () => {
    await signedIn();
    expect(statSync(files(shop.daemon.directory)[0] ?? '').mode & 0o777).toBe(0o600);
  });
});
