import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Phonechat } from '../support/phonechat.ts';
import { type TokenOptions, token } from '../support/tokens.ts';

const PATH = '/phonechat/link';
const SITE = 'https://shop.example.com';

let shared: Phonechat;

beforeAll(async () => {
  shared = await Phonechat.prepare();
  await shared.start({ JWT_DEBUG: 'true', WEBCHAT_ALLOWED_ORIGINS: SITE });
});

/**
 * The daemon under test. Most tests share one daemon, and each of them has its own users. One test starts another
 * daemon with other settings.
 */
let here: Phonechat;

beforeEach(() => {
  here = shared;
  here.meet();
});

async function startAnother(settings: Record<string, string>): Promise<void> {
  here = await Phonechat.prepare();
  await here.start(settings);
}

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

const link = async (bearer: string, phone_number: unknown = `+${here.ada}`) =>
  ask({ bearer, body: { phone_number } });

/** Returns the answer that this user gets to "Who am I?". */
async function whoIs(user: string, place = user): Promise<string> {
  const before = here.platform.textsTo(place).length;
  await here.deliver({ user, text: 'Who am I?' });
  return (await here.texts(place, before + 1))[before] ?? '';
}

describe('POST /phonechat/link', () => {
  it('links a number, so that the person is answered with their own data', async () => {
    expect(await whoIs(here.ada)).not.toContain('Alice');
    const answer = await link(await alice());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.stringMatching(
        /^\+1650555\d{4} is linked to alice@example\.com until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/,
      ),
    });
    expect(await whoIs(here.ada)).toContain('Alice');
    expect(here.api.seen('/users').map(({ sub }) => sub)).toEqual(['user-1']);
    expect(await whoIs(here.bob)).not.toMatch(/Alice|Bob/);
    const listed = await here.run('link', 'list', '--json');
    if (listed.code === 0) expect(listed.stdout).toContain(`+${here.ada}`);
  });

  it('returns the expiry of the token if it is earlier than the expiry of the link', async () => {
    const { body } = await link(await alice({}, { ttl: 3600 }));
    const until = Date.parse(`${/until (.+) UTC/.exec(body.message)?.[1]?.replace(' ', 'T')}:00Z`);
    expect(Math.abs(until - (Date.now() + 3_600_000))).toBeLessThan(120_000);
  });

  it('accepts a number in another notation, and answers 400 to what is none', async () => {
    expect((await link(await alice(), `+1 (650) 555-${here.ada.slice(-4)}`)).status).toBe(200);
    expect(await whoIs(here.ada)).toContain('Alice');
    for (const phone_number of [undefined, null, 16505551234, ['+16505551234'], '16505551234']) {
      const { status, body } = await ask({ bearer: await alice(), body: { phone_number } });
      expect([status, body]).toEqual([
        400,
        {
          success: false,
          message:
            'phone_number must be a phone number in international format, with + or 00, such as +16505551234.',
        },
      ]);
    }
  });

  it('answers 401 with the reason if the token is invalid', async () => {
    for (const [bearer, reason] of [
      [await alice({}, { ttl: -1 }), 'Token Expired'],
      [await alice({}, { secret: 'another-secret-of-at-least-256-bits-for-it' }), 'Invalid Signature'],
      ['a.b', 'JWT Malformed'],
    ] as const) {
      const answer = await link(bearer);
      expect([answer.status, answer.headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer']);
      expect(answer.body).toEqual({ success: false, message: `The token is invalid: ${reason}.` });
    }
    const none = await ask({ body: { phone_number: `+${here.ada}`, jwt_token: await alice() } });
    expect([none.status, none.body.success, none.headers.get('WWW-Authenticate')]).toEqual([
      401,
      false,
      'Bearer',
    ]);
    expect(await whoIs(here.ada)).not.toContain('Alice');
  });

  it('answers 403 to a token with a phone claim that names another number', async () => {
    for (const phone of [here.bob, Number(here.bob), 'unknown']) {
      const answer = await link(await alice({ phone }));
      expect([answer.status, answer.body.success]).toEqual([403, false]);
    }
    for (const phone of [here.ada, Number(here.ada), '', undefined])
      expect((await link(await alice({ phone }))).status).toBe(200);
  });

  it('answers 403 if the number is linked to another person, unless the phone claim names it', async () => {
    await link(await alice());
    for (const claims of [{}, { phone: here.ada }]) {
      const { status, body } = await link(await bob(claims));
      expect([status, body]).toEqual([
        403,
        { success: false, message: 'The number is linked to another person.' },
      ]);
    }
    expect(await whoIs(here.ada)).toContain('Alice');
    expect((await link(await bob({ phone: `+${here.ada}` }))).status).toBe(200);
    const undone = { method: 'DELETE', bearer: await bob(), query: `?phone_number=%2B${here.ada}` };
    expect((await ask(undone)).status).toBe(200);
  });
});

describe('DELETE /phonechat/link', () => {
  it.each<[string, () => Asked]>([
    ['body', () => ({ body: { phone_number: `+${here.ada}` } })],
    ['body, under its other name', () => ({ body: { phone: `+${here.ada}` } })],
    ['query', () => ({ query: `?phone_number=%2B${here.ada}` })],
    ['query, under its other name', () => ({ query: `?phone=%2B${here.ada}` })],
    ['query, with two zeros', () => ({ query: `?phone_number=00${here.ada}` })],
    ['query, with an unencoded plus sign', () => ({ query: `?phone_number=+${here.ada}` })],
  ])("removes a person's own link, with the number in the %s", async (_title, asked) => {
    const bearer = await alice();
    await link(bearer);
    const answer = await ask({ method: 'DELETE', bearer, ...asked() });
    expect([answer.status, answer.body]).toEqual([
      200,
      { success: true, message: `+${here.ada} is no longer linked.` },
    ]);
    expect(await whoIs(here.ada)).not.toContain('Alice');
  });

  it("does not change somebody else's link, and reveals nothing about it", async () => {
    await link(await alice());
    const query = `?phone_number=%2B${here.ada}`;
    const [held, none] = [
      await ask({ method: 'DELETE', bearer: await bob(), query }),
      await ask({ method: 'DELETE', bearer: await bob(), query: `?phone_number=%2B${here.bob}` }),
    ];
    expect([held.status, held.body]).toEqual([none.status, none.body]);
    expect(held).toMatchObject({ status: 404, body: { success: false } });
    expect(await whoIs(here.ada)).toContain('Alice');
  });

  it('requires a token and a number', async () => {
    const noToken = await ask({ method: 'DELETE', query: `?phone_number=%2B${here.ada}` });
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
  ])('with status %i', async (status, asked) => {
    const bearer = asked.bearer === undefined ? {} : { bearer: await alice() };
    const answer = await ask({ ...asked, ...bearer });
    expect([answer.status, answer.body]).toEqual([status, shape]);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/);
    if (status === 405) expect(answer.headers.get('Allow')).toContain('POST');
  });

  it('with status 429: requests count toward the rate limit of the person', async () => {
    await startAnother({ RATE_LIMIT_TOKEN_MAX: '2', RATE_LIMIT_ANONYMOUS_MAX: '1' });
    const bearer = await alice();
    expect((await link(bearer)).status).toBe(200);
    expect((await link(bearer, 'bad')).status).toBe(400);
    const limited = await link(bearer);
    expect([limited.status, limited.body]).toEqual([429, shape]);
    expect(Number(limited.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await link(await bob(), `+${here.bob}`)).status).toBe(200);
    expect((await ask({ body: {} })).status).toBe(401);
    expect((await ask({ body: {} })).status).toBe(429);
    // Deliveries of the platform are not counted.
    for (let n = 0; n < 5; n++) expect((await here.deliver()).status).toBe(200);
  });

  it('and can be read by browsers on an allowed origin', async () => {
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
