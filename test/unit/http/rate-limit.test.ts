import { afterEach, describe, expect, test } from 'vitest';
import type { ChannelRequest, Route } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { ReceivedRequest, validateOnce } from '../../../src/daemon/http/received-request.ts';
import type { TokenReason, TokenValidator } from '../../../src/daemon/identity/identity.ts';
import { closeAll, echo, limited, post, problem, serve } from './serve.ts';

const ANA = { Authorization: 'Bearer good-ana' };

describe('the rate limit', () => {
  afterEach(closeAll);

  test('reports its policy and state in every response of a limited route, and the wait in a 429', async () => {
    const web = await serve({ routes: [limited] });
    const responses = [];
    for (let i = 0; i < 3; i++) responses.push(await post(`${web.url}/limited`, '{}'));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(responses.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      '"address";r=1;t=60',
      '"address";r=0;t=12',
      '"address";r=0;t=12',
    ]);
    for (const { headers } of responses) expect(headers.get('ratelimit-policy')).toBe('"address";q=2;w=60');
    expect(responses.map(({ headers }) => headers.get('retry-after'))).toEqual([null, null, '12']);
    expect(await problem(responses[2] as Response)).toMatchObject({
      status: 429,
      title: 'Too Many Requests',
      code: 'rate_limited',
      detail: 'More than 2 requests within 60 seconds.',
    });
  });

  test('counts a person by the token in the header or the body, across all limited routes', async () => {
    const web = await serve({ routes: [limited, { ...limited, path: '/second' }] });
    const statuses = [
      (await post(`${web.url}/limited`, '{}', ANA)).status,
      (await post(`${web.url}/limited`, '{"jwt_token":"good-ana"}')).status,
      (await post(`${web.url}/second`, '{}', ANA)).status,
      (await post(`${web.url}/second`, '{}', ANA)).status,
      (await post(`${web.url}/second`, '{}', { Authorization: 'Bearer good-bo' })).status,
    ];
    expect(statuses).toEqual([200, 200, 200, 429, 200]);
    expect(new Set(web.hits)).toEqual(new Set(['http:person:["","","ana"]', 'http:person:["","","bo"]']));
  });

  test('counts requests with invalid tokens by address, so that invented tokens do not evade the limit', async () => {
    const web = await serve({ routes: [limited] });
    for (let i = 0; i < 3; i++) await post(`${web.url}/limited`, '{}', { Authorization: `Bearer bad-${i}` });
    expect(web.hits).toEqual(Array(3).fill('http:address:127.0.0.1'));
    expect((await post(`${web.url}/limited`, '{}')).status).toBe(429);
  });

  test('counts the address that a trusted proxy reports, and an IPv6 address by its /64', async () => {
    const web = await serve({ routes: [limited], settings: { TRUST_PROXY: 1 } });
    await post(`${web.url}/limited`, '{}', { 'X-Forwarded-For': '1.1.1.1, 2001:db8:1:2::3' });
    await post(`${web.url}/limited`, '{}', { 'X-Forwarded-For': '2.2.2.2, 2001:db8:1:2::4' });
    expect(new Set(web.hits)).toEqual(new Set(['http:address:2001:db8:1:2::/64']));
  });

  test('counts a request with a refused body for the person of the token in its header', async () => {
    const web = await serve({ routes: [limited] });
    const refused = [
      await post(`${web.url}/limited`, '{', ANA),
      await post(`${web.url}/limited`, 'x'.repeat(3000), ANA),
      await post(`${web.url}/limited`, '{}', { ...ANA, 'Content-Type': 'text/plain' }),
      await post(`${web.url}/limited`, '{', ANA),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 413, 415, 429]);
    expect(refused.every(({ headers }) => headers.has('ratelimit'))).toBe(true);
    expect(new Set(web.hits)).toEqual(new Set(['http:person:["","","ana"]']));
  });

  test('counts a request without a readable token for the address of the client', async () => {
    const web = await serve({ routes: [limited] });
    expect((await post(`${web.url}/limited`, '{')).status).toBe(400);
    expect(web.hits).toEqual(['http:address:127.0.0.1']);
  });

  test('refuses a request before the handler runs', async () => {
    let handled = 0;
    const route: Route = { ...limited, handle: () => ({ body: { handled: ++handled } }) };
    const web = await serve({ routes: [route] });
    for (let i = 0; i < 5; i++) await post(`${web.url}/limited`, '{}');
    expect(handled).toBe(2);
  });

  test('does not affect other routes', async () => {
    const web = await serve({ routes: [echo] });
    const response = await post(`${web.url}/echo`, '{}', ANA);
    expect(response.headers.has('ratelimit')).toBe(false);
    expect([web.hits, web.validations]).toEqual([[], []]);
  });

  test('passes the validated token on, so that it is validated only once', async () => {
    const seen: unknown[] = [];
    const keep = (request: ChannelRequest) => {
      seen.push(ReceivedRequest.of(request)?.validated);
      return { body: {} };
    };
    const web = await serve({
      routes: [
        { ...limited, handle: keep },
        { ...echo, handle: keep },
      ],
    });
    await post(`${web.url}/limited`, '{}', ANA);
    await post(`${web.url}/limited`, '{}');
    await post(`${web.url}/echo`, '{}', ANA);
    expect(seen).toEqual([
      { token: 'good-ana', verdict: expect.objectContaining({ valid: true }) },
      null,
      null,
    ]);
    expect(web.validations).toEqual(['good-ana']);
  });

  test('is followed by handlers that validate each token once, and never take the verdict of another', async () => {
    const asked: string[] = [];
    const tokens: TokenValidator = {
      async validate(token, request_id) {
        asked.push(`${token} for ${request_id}`);
        return { valid: false, reason: token as TokenReason };
      },
    };
    const heard: unknown[] = [];
    const route: Route = {
      ...limited,
      async handle(request) {
        const once = validateOnce(tokens, request);
        for (const token of ['good-ana', 'bo', 'good-ana', 'bo', 'cy', 'bo'])
          heard.push(await once.validate(token).then((it) => (it.valid ? it.person : it.reason)));
        return {};
      },
    };
    const web = await serve({ routes: [route] });
    await post(`${web.url}/limited`, '{}', { ...ANA, 'X-Request-Id': 'r1' });
    expect(heard.splice(0)).toEqual(['["","","ana"]', 'bo', '["","","ana"]', 'bo', 'cy', 'bo']);
    asked.length = 0;
    await post(`${web.url}/limited`, '{}', { 'X-Request-Id': 'r2' });
    expect(heard).toEqual(['good-ana', 'bo', 'good-ana', 'bo', 'cy', 'bo']);
    // The first token is that of the request.
    expect(asked.filter((words) => words.startsWith('good-ana'))).toEqual(['good-ana for r2']);
  });

  test('refuses requests while the store is unreachable', async () => {
    const web = await serve({
      routes: [limited],
      limits: { hit: () => Promise.reject(new StoreUnavailable(new Error('disk'))) },
    });
    const response = await post(`${web.url}/limited`, '{}');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await problem(response)).code).toBe('unavailable');
  });
});

describe('the traces of refused requests', () => {
  afterEach(closeAll);

  test('are found by the request id', async () => {
    const web = await serve({ routes: [limited], settings: { RATE_LIMIT_ANONYMOUS_MAX: 1 } });
    await post(`${web.url}/limited`, '{', { 'X-Request-Id': 'first' });
    await post(`${web.url}/limited`, '{}', { 'X-Request-Id': 'second' });
    expect(web.traces).toMatchObject([
      { request_id: 'first', platform: 'web', session_id: null, outcome: 'malformed_json' },
      {
        request_id: 'second',
        platform: 'web',
        outcome: 'rate_limited',
        lines: [{ step: 'receive', verdict: 'refused', reason: 'rate_limited' }],
      },
    ]);
  });

  test('do not make requests wait: their number is limited, and lost traces are logged once', async () => {
    let kept = 0;
    const web = await serve({
      routes: [limited],
      settings: { RATE_LIMIT_ANONYMOUS_MAX: 1 },
      keepTrace: () => {
        kept++;
        return new Promise(() => undefined);
      },
    });
    for (let i = 0; i < 105; i++) await post(`${web.url}/limited`, '{');
    expect(kept).toBe(100);
    expect(web.log.filter(({ msg }) => msg === 'traces of refused requests were not stored')).toHaveLength(1);
  });
});
