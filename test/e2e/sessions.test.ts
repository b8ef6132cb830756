import { mkdtempSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll } from '../support/daemon.ts';
import { FakeModel } from '../support/fake-model.ts';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests agentd-identity(7), "States of a session", and agentd-message(7), "Sessions", as webchat users and an operator
// see them.

const WHO = 'Who am I?';
const GENERATED = /^webchat_visitor_[A-Za-z0-9_-]{22,}$/;

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
  test('before the first message there is no session', async () => {
    expect(await shop.session('never-seen')).toBeNull();
    const { code, stderr } = await shop.run('sessions', 'show', 'never-seen');
    expect(code).toBe(1);
    expect(stderr).toContain("there is no session 'never-seen'");
  });

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

  test('a valid token changes the state from NoJWT to ValidJWT before the message is processed', async () => {
    const { body } = await shop.say({ user_id: 'visitor', message: 'Hello' });
    const session_id: string = body.session_id;
    expect(await shop.session(session_id)).toMatchObject({ state: 'NoJWT' });
    const slow = gate();
    shop.api.misbehave('/users', { wait: slow.opened }, 1);
    const asked = shop.api.next('/users');
    const answered = shop.say({ user_id: 'visitor', session_id, message: WHO }, { bearer: await token() });
    expect((await asked).sub).toBe('ada');
    const during = await shop.session(session_id);
    expect(during).toMatchObject({
      state: 'ValidJWT',
      owner: { sub: 'ada' },
      metadata: { jwt_context: { has_jwt: true, user_id: 'ada', email: 'ada@example.com' } },
    });
    expect(during.metadata.jwt_context.token_exp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    slow.open();
    expect((await answered).body.response).toContain('A-1001');
    expect((await shop.session(session_id)).turns[1]).toMatchObject({ credentials: 'user' });
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

  test('when a token expires during the session, the first call without it is logged with that reason, as a warning', async () => {
    const bearer = await token({ ttl: 2 });
    const { body } = await shop.say({ user_id: 'visitor', message: WHO }, { bearer });
    await lapsed(bearer);
    const ask = { user_id: 'visitor', session_id: body.session_id, message: 'Who is ada@example.com?' };
    await shop.say(ask, { headers: { 'X-Request-Id': 'call-after-expiry' } });
    const warned = (msg: string) =>
      shop.daemon.logged(
        (line) =>
          line.level === 'warn' &&
          line.request_id === 'call-after-expiry' &&
          String(line.msg).startsWith(msg),
      );
    expect((await warned('the stored token has expired')).reason).toBe('stored_token_expired');
    expect((await warned('tool uses default credentials')).reason).toBe('stored_token_expired');
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

  test('a session still belongs to its first person after sign-out', async () => {
    const session_id = await signedIn();
    await shop.say({ user_id: 'visitor', session_id, message: WHO, jwt_token: null });
    const answer = await shop.say(
      { user_id: 'visitor', session_id, message: WHO },
      { bearer: await token({ sub: 'grace' }) },
    );
    expect(answer).toMatchObject({ status: 403, body: { code: 'session_forbidden' } });
  });

  test('an id that begins like the id of a platform session is refused with 403, and no session is created', async () => {
    for (const session_id of ['teamchat:T1:C1', 'phonechat:1:+15550100', 'msgbot:42', 'webchat:x', 'sse:x']) {
      const answer = await shop.say({ user_id: 'visitor', session_id, message: 'Hello' });
      expect(answer, session_id).toMatchObject({ status: 403, body: { code: 'session_forbidden' } });
      expect(await shop.session(session_id)).toBeNull();
    }
  });

  test('a request that is refused with 403 is found only by its request id, not among the traces of the session', async () => {
    const session_id = await signedIn();
    await shop.say(
      { user_id: 'eve', session_id, message: WHO },
      { headers: { 'X-Request-Id': 'stranger-1' } },
    );
    expect((await shop.run('explain', 'stranger-1')).stdout).toContain('session_forbidden');
    expect((await shop.run('explain', session_id)).stdout).not.toContain('session_forbidden');
  });
});

describe('Ids of sessions are generated or chosen by the client', () => {
  test('if session_id is absent or null, webchat_<user_id>_<128 random bits> is generated', async () => {
    const ids = new Set<string>();
    for (const extra of [{}, { session_id: null }]) {
      const { body } = await shop.say({ user_id: 'visitor', message: 'Hello', ...extra });
      expect(body.session_id).toMatch(GENERATED);
      ids.add(body.session_id);
    }
    expect(ids.size).toBe(2);
  });

  test('a generated id is always accepted when it is sent back, whatever the user_id', async () => {
    for (const user_id of ['é'.repeat(256), 'teamchat:T1', 'a b/c?d', '😀'.repeat(256)]) {
      const first = await shop.say({ user_id, message: 'Hello' });
      const { session_id } = first.body;
      expect(session_id.startsWith(`webchat_${user_id}_`)).toBe(true);
      expect(await shop.say({ user_id, session_id, message: 'Hello again' })).toMatchObject({
        status: 200,
        body: { session_id },
      });
    }
  });

  test('an unknown session_id is used as given', async () => {
    const { body } = await shop.say({ user_id: 'visitor', session_id: 'my own: id', message: 'Hello' });
    expect(body.session_id).toBe('my own: id');
    expect(await shop.session('my own: id')).toMatchObject({ user_id: 'visitor', generated: false });
  });

  test('in a session with an id that the client chose, a message without a token uses default credentials, and the stored context stays', async () => {
    // The id looks generated, but the daemon did not generate it.
    const session_id = `webchat_visitor_${'A'.repeat(22)}`;
    const own = { user_id: 'visitor', session_id };
    expect(await actsAs(own, await token())).toBe('ada');
    expect(await actsAs(own)).toBe('service');
    expect(await shop.session(session_id)).toMatchObject({
      state: 'ValidJWT',
      generated: false,
      turns: [{ credentials: 'user' }, { credentials_reason: 'client_chosen_session' }],
    });
    expect(await actsAs(own, await token())).toBe('ada');
  });

  test('a log line shows only the first 6 characters of the random part of an id', async () => {
    const session_id = await signedIn('log-reader');
    await shop.daemon.logged((line) => String(line.session).startsWith('webchat_log-reader_'));
    expect(shop.daemon.stderr()).not.toContain(session_id);
    expect(shop.daemon.stderr()).toContain(session_id.slice(0, 'webchat_log-reader_'.length + 6));
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

  test('an invalid token clears the stored context', async () => {
    const session_id = await signedIn();
    expect(await actsAs({ user_id: 'visitor', session_id, jwt_token: 'no-token' })).toBe('service');
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('service');
  });

  test('a valid token replaces the stored context', async () => {
    const session_id = await signedIn();
    const renewed = await token({ claims: { jti: 'renewed' } });
    await shop.say({ user_id: 'visitor', session_id, message: WHO }, { bearer: renewed });
    await shop.say({ user_id: 'visitor', session_id, message: WHO });
    expect(shop.api.seen('/users').at(-1)?.bearer).toBe(renewed);
  });

  test('the model does not see the turns of the person after sign-out', async () => {
    const model = await FakeModel.start();
    const chat = await startShop({ env: { AGENT_BASE_URL: model.url, AGENT_MODEL: 'scripted' } });
    try {
      const said = () => JSON.stringify(model.requests.at(-1)?.messages);
      model.script([{ text: ['Your order A-1001 has shipped.'] }]);
      const bearer = await token();
      const { body } = await chat.say({ user_id: 'visitor', message: 'My order?' }, { bearer });
      const own = { user_id: 'visitor', session_id: body.session_id };
      await chat.say({ ...own, message: 'And now?', jwt_token: null });
      expect(said()).not.toContain('A-1001');
      await chat.say({ ...own, message: 'And then?' }, { bearer });
      expect(said()).toContain('A-1001');
    } finally {
      await chat.stop();
      await model.close();
    }
  });
});

describe('messages of one session', () => {
  test('are processed one at a time, in order of arrival, while other sessions run', async () => {
    const slow = gate();
    shop.api.misbehave('/users', { wait: slow.opened }, 1);
    const own = { user_id: 'visitor', session_id: 'in-order' };
    let asked = shop.api.next('/users');
    const first = shop.say({ ...own, message: 'Who is one@example.com?' });
    expect((await asked).query.userEmail).toBe('one@example.com');
    const second = shop.say({ ...own, message: 'Who is two@example.com?' });
    const other = await shop.say({ user_id: 'visitor', session_id: 'parallel', message: 'Hello' });
    expect(other.status).toBe(200);
    asked = shop.api.next('/users');
    expect(await shop.session('in-order')).toBeNull();
    slow.open();
    expect((await asked).query.userEmail).toBe('two@example.com');
    await Promise.all([first, second]);
    const { turns } = await shop.session('in-order');
    expect(turns.map((turn: { text: string }) => turn.text)).toEqual([
      'Who is one@example.com?',
      'Who is two@example.com?',
    ]);
  });

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

  test('are sealed when TOKEN_ENCRYPTION_KEY is set, and the old key still opens them after a change of keys', async () => {
    const [old, next, other] = ['o', 'n', 'x'].map((letter) => Buffer.alloc(32, letter).toString('base64'));
    const directory = mkdtempSync(join(tmpdir(), 'agentd-sealed-'));
    const withKeys = (keys: string) => startShop({ directory, env: { TOKEN_ENCRYPTION_KEY: keys } });
    const bearer = await token();
    const payload = bearer.split('.')[1] ?? '';
    try {
      const sealed = await withKeys(`${old}`);
      const { body } = await sealed.say({ user_id: 'visitor', message: WHO }, { bearer });
      const stored = readAll(files(directory));
      expect(stored).toContain(body.session_id);
      expect(stored).not.toContain(payload);
      const shown = await sealed.run('sessions', 'show', body.session_id, '--json');
      expect(shown.stdout).toContain('"token_hint": "sealed"');
      await sealed.stop();

      const own = { user_id: 'visitor', session_id: body.session_id, message: WHO };
      const changed = await withKeys(`${next},${old}`);
      expect((await changed.say(own)).body.response).toContain('Ada Lovelace');
      await changed.daemon.logged((line) => /with the first key$/.test(String(line.msg)));
      await changed.stop();

      const rotated = await withKeys(`${next}`);
      expect((await rotated.say(own)).body.response).toContain('Ada Lovelace');
      await rotated.stop();

      const lost = await withKeys(`${other}`);
      const answer = await lost.say(own);
      expect(answer.status).toBe(200);
      expect(answer.body.response).toContain('not signed in');
      await lost.daemon.logged(
        (line) => line.level === 'warn' && /no encryption key can unseal/.test(String(line.msg)),
      );
      await lost.stop();
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test('`agentd sessions list` says on standard error that there are more sessions than it shows', async () => {
  for (const session_id of ['listed-1', 'listed-2'])
    await shop.say({ user_id: 'listed', session_id, message: 'Hello' });
  const list = (limit: number) =>
    shop.run('sessions', 'list', '--user', 'listed', '--limit', String(limit), '--json');
  const [all, one] = [await list(2), await list(1)];
  expect([JSON.parse(all.stdout).length, all.stderr]).toEqual([2, '']);
  expect(JSON.parse(one.stdout)).toMatchObject([{ session_id: 'listed-2' }]);
  expect(one.stderr).toBe('Only the first is shown; --limit shows more.\n');
});
