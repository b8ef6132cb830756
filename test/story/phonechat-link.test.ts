import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADA, BOB, HIDDEN, Phonechat } from '../harness/phonechat.ts';
import { lapsed, type TokenOptions, token } from '../harness/tokens.ts';

const PATH = '/phonechat/link';
const SITE = 'https://shop.example.com';

let here: Phonechat;

beforeEach(async () => {
  here = await Phonechat.prepare();
});

afterEach(() => here.stop());

interface Answer {
  status: number;
  headers: Headers;
  body: { success: boolean; message: string };
}

interface Asked {
  method?: string;
  bearer?: string;
  body?: unknown;
  query?: string;
  headers?: Record<string, string>;
}

async function ask({ method = 'POST', bearer, body, query = '', headers = {} }: Asked): Promise<Answer> {
  const response = await fetch(`${here.daemon.url}${PATH}${query}`, {
    method,
    headers: {
      ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  };
}

const alice = (claims: object = {}, options: TokenOptions = {}) =>
  token({ sub: 'user-1', email: 'alice@example.com', claims: { ...claims }, ...options });
const bob = (claims: object = {}) =>
  token({ sub: 'user-2', email: 'bob@example.com', claims: { ...claims } });

const link = async (bearer: string, phone_number: unknown = `+${ADA}`) =>
  ask({ bearer, body: { phone_number } });

/** What somebody is told who asks who they are. */
async function whoIs(user: string, place = user): Promise<string> {
  const before = here.platform.textsTo(place).length;
  await here.platform.deliver(here.daemon, { user, text: 'Who am I?' });
  return (await here.texts(place, before + 1))[before] ?? '';
}

describe('POST /phonechat/link', () => {
  it('links a number: its person is answered with their own data', async () => {
    await here.start();
    expect(await whoIs(ADA)).not.toContain('Alice');
    const answer = await link(await alice());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.stringMatching(
        /^\+16505551234 is linked to alice@example\.com until \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)\.$/,
      ),
    });
    expect(await whoIs(ADA)).toContain('Alice');
    expect(here.api.seen('/users').map(({ sub }) => sub)).toEqual(['user-1']);
    expect(await whoIs(BOB)).not.toMatch(/Alice|Bob/);
    const listed = await here.run('link', 'list', '--json');
    if (listed.code === 0) expect(listed.stdout).toContain(`+${ADA}`);
  });

  it('says until when by the token, which ends before the link', async () => {
    await here.start();
    const { body } = await link(await alice({}, { ttl: 3600 }));
    const until = Date.parse(`${/until (.+) \(UTC\)/.exec(body.message)?.[1]?.replace(' ', 'T')}:00Z`);
    expect(Math.abs(until - (Date.now() + 3_600_000))).toBeLessThan(120_000);
  });

  it.each([
    ['16505551234'],
    ['+1 (650) 555-1234'],
    ['+1-650-555-1234'],
    ['0016505551234'],
    [' +16505551234 '],
  ])('takes the number however it is written: %s', async (written) => {
    await here.start();
    expect((await link(await alice(), written)).status).toBe(200);
    expect(await whoIs(ADA)).toContain('Alice');
  });

  it('takes `phone` for `phone_number`, which comes first', async () => {
    await here.start();
    const bearer = await alice();
    expect((await ask({ bearer, body: { phone: `+${ADA}` } })).status).toBe(200);
    const both = await ask({ bearer, body: { phone: `+${ADA}`, phone_number: `+${BOB}` } });
    expect(both.body.message).toContain(`+${BOB}`);
  });

  it.each([
    ['no number', undefined],
    ['null', null],
    ['a number without quotes', 16505551234],
    ['words', 'my phone'],
    ['too few digits', '+1650555'],
    ['too many', '+1650555123456789012'],
    ['an extension', '+16505551234;ext=5'],
    ['a country that is none', '+999123456789'],
    ['a list', ['+16505551234']],
    ['an empty text', ''],
  ])('answers 400 to %s', async (_title, phone_number) => {
    await here.start();
    const { status, body } = await ask({ bearer: await alice(), body: { phone_number } });
    expect([status, body]).toEqual([
      400,
      {
        success: false,
        message: 'phone_number must be a phone number in international format, such as +16505551234.',
      },
    ]);
  });

  it('answers 401 with the reason where the token is no use', async () => {
    await here.start();
    for (const [bearer, reason] of [
      [await alice({}, { ttl: -1 }), 'Token Expired'],
      [await alice({}, { secret: 'another-secret-of-at-least-256-bits-for-it' }), 'Invalid Signature'],
      ['a.b', 'JWT Malformed'],
    ] as const) {
      const answer = await link(bearer);
      expect([answer.status, answer.headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer']);
      expect(answer.body).toEqual({ success: false, message: `The token is no use: ${reason}.` });
    }
    const none = await ask({ body: { phone_number: `+${ADA}`, jwt_token: await alice() } });
    expect([none.status, none.body.success, none.headers.get('WWW-Authenticate')]).toEqual([
      401,
      false,
      'Bearer',
    ]);
    expect(await whoIs(ADA)).not.toContain('Alice');
  });

  it('answers 403 to a token whose phone claim names another number', async () => {
    await here.start();
    for (const phone of [`+${BOB}`, BOB, Number(BOB), '(650) 555-5678', 'unknown']) {
      const answer = await link(await alice({ phone }));
      expect([answer.status, answer.body.success]).toEqual([403, false]);
    }
    for (const phone of [`+${ADA}`, ADA, Number(ADA), '(650) 555-1234', '', undefined])
      expect((await link(await alice({ phone }))).status).toBe(200);
  });

  it('takes over what another person holds only with a phone claim that matches', async () => {
    await here.start();
    await link(await alice());
    const refused = await link(await bob());
    expect([refused.status, refused.body]).toEqual([
      403,
      { success: false, message: 'The number is linked to another person.' },
    ]);
    expect(refused.body.message).not.toContain('alice');
    expect(await whoIs(ADA)).toContain('Alice');
    // Without its country, the same number may be anybody's.
    expect((await link(await bob({ phone: ADA.slice(1) }))).status).toBe(403);
    expect(await whoIs(ADA)).toContain('Alice');
    expect((await link(await bob({ phone: `+${ADA}` }))).status).toBe(200);
    expect(await whoIs(ADA)).toContain('Bob');
  });

  it('takes over what nobody holds any more, and lets its person renew it', async () => {
    await here.start();
    const short = await alice({}, { ttl: 1 });
    await link(short);
    expect((await link(await alice())).status).toBe(200);
    const last = await alice({}, { ttl: 1 });
    await link(last);
    await lapsed(last);
    expect((await link(await bob())).status).toBe(200);
  });

  it.each([
    ['Brazilian', '+55 11 98765-4321', '551187654321', '5511987654321'],
    ['Mexican', '+52 55 1234 5678', '5215512345678', '525512345678'],
  ])('is found in both writings of the platform: %s', async (_title, linked, one, other) => {
    await here.start();
    await link(await alice(), linked);
    expect(await whoIs(one)).toContain('Alice');
    expect(await whoIs(other)).toContain('Alice');
    const held = await link(await bob(), `+${one}`);
    expect(held.status).toBe(403);
  });

  it('is found by the id that came with the number, when it comes alone', async () => {
    await here.start();
    await link(await alice());
    await here.platform.deliver(here.daemon, { user: ADA, text: 'Who am I?' });
    expect((await here.texts(ADA, 1))[0]).toContain('Alice');
    const call = here.platform.simulator.delivery(here.platform.event({ user: ADA }), here.platform.settings);
    const id = /"from_user_id":"([^"]+)"/.exec(call.body)?.[1] ?? '';
    expect(await whoIs(id)).toContain('Alice');
    // An id that never came with the number has no link.
    expect(await whoIs(HIDDEN)).not.toContain('Alice');
  });
});

describe('DELETE /phonechat/link', () => {
  it.each([
    ['body', { body: { phone_number: `+${ADA}` } }],
    ['body, by its other name', { body: { phone: ADA } }],
    ['query', { query: `?phone_number=%2B${ADA}` }],
    ['query, with a plus that was not encoded', { query: `?phone_number=+${ADA}` }],
  ])("takes a person's own link away, the number being in the %s", async (_title, asked) => {
    await here.start();
    const bearer = await alice();
    await link(bearer);
    const answer = await ask({ method: 'DELETE', bearer, ...asked });
    expect([answer.status, answer.body]).toEqual([
      200,
      { success: true, message: `+${ADA} is no longer linked.` },
    ]);
    expect(await whoIs(ADA)).not.toContain('Alice');
  });

  it("does not touch another's, and tells nothing of it", async () => {
    await here.start();
    await link(await alice());
    const query = `?phone_number=%2B${ADA}`;
    const [held, none] = [
      await ask({ method: 'DELETE', bearer: await bob(), query }),
      await ask({ method: 'DELETE', bearer: await bob(), query: `?phone_number=%2B${BOB}` }),
    ];
    expect([held.status, held.body]).toEqual([none.status, none.body]);
    expect(held).toMatchObject({ status: 404, body: { success: false } });
    expect(await whoIs(ADA)).toContain('Alice');
  });

  it('asks for a token and a number', async () => {
    await here.start();
    const noToken = await ask({ method: 'DELETE', query: `?phone_number=%2B${ADA}` });
    expect([noToken.status, noToken.headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer']);
    expect((await ask({ method: 'DELETE', bearer: 'a.b.c' })).status).toBe(401);
    const noNumber = await ask({ method: 'DELETE', bearer: await alice() });
    expect([noNumber.status, noNumber.body.success]).toEqual([400, false]);
  });
});

describe('every answer of /phonechat/link has its documented shape', () => {
  const shape = { success: false, message: expect.any(String) };

  it.each<[number, Asked]>([
    [400, { bearer: 'TOKEN', body: '{' }],
    [400, { bearer: 'TOKEN', body: '[]' }],
    [405, { method: 'GET' }],
    [405, { method: 'PUT', body: {} }],
    [413, { bearer: 'TOKEN', body: { phone_number: 'x'.repeat(300_000) } }],
    [415, { bearer: 'TOKEN', body: '{}', headers: { 'Content-Type': 'text/plain' } }],
    [415, { method: 'DELETE', bearer: 'TOKEN', body: '{}', headers: { 'Content-Type': 'text/plain' } }],
  ])('%i', async (status, asked) => {
    await here.start();
    const bearer = asked.bearer === undefined ? {} : { bearer: await alice() };
    const answer = await ask({ ...asked, ...bearer });
    expect([answer.status, answer.body]).toEqual([status, shape]);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/);
    if (status === 405) expect(answer.headers.get('Allow')).toContain('POST');
  });

  it('429: it counts in the rate limit, per person', async () => {
    await here.start({ RATE_LIMIT_TOKEN_MAX: '2', RATE_LIMIT_ANONYMOUS_MAX: '1' });
    const bearer = await alice();
    expect((await link(bearer)).status).toBe(200);
    expect((await link(bearer, 'bad')).status).toBe(400);
    const limited = await link(bearer);
    expect([limited.status, limited.body]).toEqual([429, shape]);
    expect(Number(limited.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await link(await bob(), `+${BOB}`)).status).toBe(200);
    expect((await ask({ body: {} })).status).toBe(401);
    expect((await ask({ body: {} })).status).toBe(429);
    // The platform is not counted.
    for (let n = 0; n < 5; n++) expect((await here.platform.deliver(here.daemon)).status).toBe(200);
  });

  it('also to browsers of an allowed origin', async () => {
    await here.start({ WEBCHAT_ALLOWED_ORIGINS: SITE });
    const preflight = await fetch(`${here.daemon.url}${PATH}`, {
      method: 'OPTIONS',
      headers: { Origin: SITE, 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe(SITE);
    expect(preflight.headers.get('Access-Control-Allow-Methods')).toContain('DELETE');
    const answer = await ask({ body: {}, headers: { Origin: SITE } });
    expect([answer.status, answer.headers.get('Access-Control-Allow-Origin')]).toEqual([401, SITE]);
    const other = await ask({ body: {}, headers: { Origin: 'https://evil.example.com' } });
    expect(other.headers.get('Access-Control-Allow-Origin')).toBeNull();
  });
});

describe('a link whose token has expired', () => {
  it('is no use, which the person is told once', async () => {
    await here.start();
    const short = await alice({}, { ttl: 2 });
    await link(short);
    expect(await whoIs(ADA)).toContain('Alice');
    await lapsed(short);
    const told = /sign-in has expired|expired/i;
    expect(await whoIs(ADA)).toMatch(told);
    const later = await whoIs(ADA);
    expect(later).not.toMatch(told);
    expect(later).not.toContain('Alice');
    await here.daemon.logged(
      ({ msg }) => msg === 'linked token is no use: Token Expired; default credentials',
    );
    expect(here.daemon.stderr()).not.toContain(short.split('.')[1]);
  });
});
