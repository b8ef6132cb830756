import { beforeAll, describe, expect, test } from 'vitest';
import { SECRET } from '../support/daemon.ts';
import { signToken } from '../support/fake-api.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-identity(7), "Checks".

const ISSUER = 'https://login.example.com';
const AUDIENCE = 'agentd';
const RIGHT = { iss: ISSUER, aud: AUDIENCE };
const OTHER_SECRET = 'another-secret-of-at-least-256-bits-length';
const ENV = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_DEBUG: 'true' };

let shop: Shop;
beforeAll(async () => {
  shop = await startShop({ env: ENV });
});

const now = () => Math.floor(Date.now() / 1000);
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Makes a signed token with these claims in addition to the valid claims. Undefined removes a claim. */
function made(claims: Record<string, unknown> = {}, secret = SECRET): string {
  const all = { sub: 'ada', email: 'ada@example.com', exp: now() + 3600, ...RIGHT, ...claims };
  return signToken(all, secret);
}

/** The reason that the daemon gives, and a function that makes the token. The tests of the checks have all reasons. */
const ROWS: readonly [reason: string, token: () => string][] = [
  ['JWT Malformed', () => 'not-a-token'],
  ['Invalid Signature', () => made({}, OTHER_SECRET)],
  ['Token Expired', () => made({ exp: now() })],
  ['Invalid Issuer', () => made({ iss: undefined })],
  ['Invalid Audience', () => made({ aud: ['one', 'two'] })],
];

let requests = 0;
async function sayWith(bearer: string, body: Record<string, unknown> = {}) {
  const request_id = `token-reasons-${++requests}`;
  const answer = await shop.say(
    { user_id: 'visitor', message: 'Who is ada@example.com?', ...body },
    { bearer, headers: { 'X-Request-Id': request_id } },
  );
  return { answer, request_id };
}

describe('a token problem is never an HTTP failure', () => {
  test.each(ROWS)(
    '%s: the message is answered with default credentials, and a warning has the reason',
    async (reason, make) => {
      const bearer = make();
      const { answer, request_id } = await sayWith(bearer);
      expect(answer.status).toBe(200);
      expect(answer.body.response).not.toContain('A-1001');
      expect(shop.lookedUpAs().at(-1)).toBe('service');
      const warning = await shop.daemon.logged(
        (line) => line.level === 'warn' && line.request_id === request_id,
      );
      expect(warning).toMatchObject({ reason, msg: `token refused: ${reason}` });
    },
  );

  test('a valid token gets a personal answer', async () => {
    const { answer } = await sayWith(made());
    expect(answer.body.response).toContain('A-1001');
    expect(shop.lookedUpAs().at(-1)).toBe('ada');
  });

  test('no log line contains a token', () => {
    expect(shop.daemon.stderr()).not.toMatch(/eyJ[A-Za-z0-9_-]{10,}\./);
    expect(shop.daemon.stderr()).not.toContain(made().split('.')[0]);
  });
});

describe('Token sources', () => {
  test('a token is validated once per message, however many tools and sources there are', async () => {
    const { request_id } = await sayWith(made(), { jwt_token: made(), metadata: { jwt_token: made() } });
    await shop.daemon.logged((line) => line.request_id === request_id && line.msg === 'message answered');
    const checks = shop.daemon
      .log()
      .filter((line) => line.msg === 'token checked' && line.request_id === request_id);
    expect(checks).toHaveLength(1);
    expect(checks[0]).toMatchObject({ decision: 'valid', claims: { sub: 'ada' } });
  });
});

describe('The settings of token validation', () => {
  test('JWT_VERIFY_SIGNATURE=false and JWT_VERIFY_EXP=false turn off only these checks, with a warning at the start', async () => {
    const lax = await startShop({
      env: { NODE_ENV: 'test', JWT_VERIFY_SIGNATURE: 'false', JWT_VERIFY_EXP: 'false' },
    });
    for (const name of ['JWT_VERIFY_SIGNATURE', 'JWT_VERIFY_EXP'])
      await lax.daemon.logged((line) => line.level === 'warn' && JSON.stringify(line).includes(name));
    const bearer = await token({ secret: OTHER_SECRET, ttl: -60 });
    const first = await lax.say({ user_id: 'visitor', message: 'Who am I?' }, { bearer });
    // The daemon accepted the token. The API does not accept it, so the call falls back to default credentials.
    expect(lax.api.seen('/users').map((request) => request.bearer)).toContain(bearer);
    // The expiry of the stored token is not checked, either.
    const { session_id } = first.body;
    await lax.say({ user_id: 'visitor', session_id, message: 'Who am I?' });
    expect(lax.api.seen('/users').filter((request) => request.bearer === bearer)).toHaveLength(2);
    expect(await lax.session(session_id)).toMatchObject({ state: 'ValidJWT' });
    const none = signToken({ sub: 'ada' }, SECRET).replace(/^[^.]+/, encode({ alg: 'none' }));
    await lax.say(
      { user_id: 'visitor', message: 'ada@example.com' },
      { bearer: none, headers: { 'X-Request-Id': 'none' } },
    );
    await lax.daemon.logged((line) => line.reason === 'Algorithm Not Allowed');
  });
});
