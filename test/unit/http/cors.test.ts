import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeAll, echo, limited, post, type Served, serve } from './serve.ts';

const ALLOWED = { Origin: 'https://shop.example' };

const allowOrigin = (response: Response) => response.headers.get('access-control-allow-origin');

describe('CORS with named origins', () => {
  let web: Served;
  beforeAll(async () => {
    web = await serve({
      routes: [
        echo,
        limited,
        { method: 'POST', path: '/hook', handle: () => ({ body: {} }) },
        { ...echo, path: '/mixed' },
        { method: 'DELETE', path: '/mixed', handle: () => ({ body: {} }) },
      ],
      settings: { RATE_LIMIT_ANONYMOUS_MAX: 1 },
    });
  });
  afterAll(closeAll);

  test('an allowed origin may read the answer, with credentials and the documented headers', async () => {
    const response = await post(`${web.url}/echo`, '{}', ALLOWED);
    expect(allowOrigin(response)).toBe('https://shop.example');
    expect(response.headers.get('access-control-allow-credentials')).toBe('true');
    expect(response.headers.get('vary')).toBe('Origin');
    expect(response.headers.get('access-control-expose-headers')).toBe(
      'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed',
    );
  });

  test.each([
    'https://shop.example.evil.example',
    'https://evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://SHOP.example',
    'https://sub.shop.example',
    'null',
  ])('an origin is compared exactly, so that %s gets no allow-origin header', async (Origin) => {
    for (const response of [
      await post(`${web.url}/echo`, '{}', { Origin }),
      await fetch(`${web.url}/echo`, {
        method: 'OPTIONS',
        headers: { Origin, 'Access-Control-Request-Method': 'POST' },
      }),
    ]) {
      expect(response.ok).toBe(true);
      expect(allowOrigin(response)).toBeNull();
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      expect(response.headers.get('access-control-allow-methods')).toBeNull();
      expect(response.headers.get('vary')).toBe('Origin');
    }
  });

  test('the first preflight of an origin that is not allowed is logged, at most 20 of them', async () => {
    const { url, log } = await serve({ routes: [echo] });
    const preflight = (Origin: string) =>
      fetch(`${url}/echo`, {
        method: 'OPTIONS',
        headers: { Origin, 'Access-Control-Request-Method': 'POST' },
      });
    const logged = () => log.filter(({ origin }) => origin !== undefined).map(({ origin }) => origin);
    await preflight(ALLOWED.Origin);
    for (const _ of [1, 2]) await preflight('https://my-shop.example');
    expect(logged()).toEqual(['https://my-shop.example']);
    for (let port = 1; port <= 30; port++) await preflight(`http://localhost:${port}`);
    expect(logged()).toHaveLength(20);
  });

  test('a preflight of an allowed origin gets 204 with methods, headers and maximum age', async () => {
    const response = await fetch(`${web.url}/echo`, {
      method: 'OPTIONS',
      headers: {
        ...ALLOWED,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization',
      },
    });
    expect(response.status).toBe(204);
    expect(allowOrigin(response)).toBe('https://shop.example');
    expect(response.headers.get('access-control-allow-credentials')).toBe('true');
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
    expect(response.headers.get('access-control-allow-headers')).toBe(
      'Content-Type, Authorization, Idempotency-Key, Last-Event-ID, X-Request-Id',
    );
    expect(response.headers.get('access-control-max-age')).toBe('600');
    expect(response.headers.get('x-request-id')).not.toBeNull();
  });

  test('an OPTIONS request without an origin gets the methods, and an unknown path gets 404', async () => {
    const response = await fetch(`${web.url}/echo`, { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'POST, OPTIONS']);
    expect((await fetch(`${web.url}/nowhere`, { method: 'OPTIONS', headers: ALLOWED })).status).toBe(404);
  });

  test('an OPTIONS request with an allowed origin is answered like a preflight, whatever it asks for', async () => {
    const response = await fetch(`${web.url}/echo`, { method: 'OPTIONS', headers: ALLOWED });
    expect([response.status, response.headers.get('vary')]).toEqual([204, 'Origin']);
    expect(allowOrigin(response)).toBe('https://shop.example');
    expect(response.headers.get('access-control-allow-credentials')).toBe('true');
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
  });

  test('a route that is not for browsers has no CORS headers', async () => {
    for (const method of ['POST', 'OPTIONS']) {
      const response = await fetch(`${web.url}/hook`, { method, headers: ALLOWED });
      expect(response.ok).toBe(true);
      expect(allowOrigin(response)).toBeNull();
      expect(response.headers.get('vary')).toBeNull();
    }
  });

  test('a page may use only those methods of a path that are for browsers', async () => {
    const answers = await Promise.all(
      ['OPTIONS', 'DELETE'].map((method) => fetch(`${web.url}/mixed`, { method, headers: ALLOWED })),
    );
    expect(answers.map(({ headers }) => headers.get('access-control-allow-methods'))).toEqual([
      'POST, OPTIONS',
      null,
    ]);
    expect(answers.map(allowOrigin)).toEqual(['https://shop.example', null]);
  });

  test('an allowed origin may also read the errors 400, 405, 413, 415 and 429', async () => {
    const answers = [
      await post(`${web.url}/echo`, '{', ALLOWED),
      await fetch(`${web.url}/echo`, { method: 'DELETE', headers: ALLOWED }),
      await post(`${web.url}/echo`, 'x'.repeat(3000), ALLOWED),
      await post(`${web.url}/echo`, '{}', { ...ALLOWED, 'Content-Type': 'text/plain' }),
      await post(`${web.url}/limited`, '{}', ALLOWED).then(() => post(`${web.url}/limited`, '{}', ALLOWED)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 405, 413, 415, 429]);
    for (const answer of answers) expect(allowOrigin(answer)).toBe('https://shop.example');
  });
});

test('CORS with `*` allows every origin, but never credentials', async () => {
  const web = await serve({ routes: [echo], settings: { WEBCHAT_ALLOWED_ORIGINS: ['*'] } });
  for (const method of ['POST', 'OPTIONS']) {
    const headers = { Origin: 'https://any.example', 'Access-Control-Request-Method': 'POST' };
    const response = await fetch(`${web.url}/echo`, { method, headers });
    expect(allowOrigin(response)).toBe('*');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  }
  await closeAll();
});
