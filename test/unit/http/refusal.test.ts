import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../src/channel/index.ts';
import { AgentdError, StoreUnavailable } from '../../../src/daemon/errors.ts';
import type { LimitStore } from '../../../src/daemon/store/limits/limits.ts';
import { closeAll, post, problem, type Served, serve } from './serve.ts';

/** A route that also answers refusals with its own kind of object. */
const registry: Route = {
  method: 'POST',
  path: '/registry',
  contentType: 'application/json',
  cors: true,
  limited: true,
  token: ({ headers }) => headers.authorization?.slice('Bearer '.length),
  refusal: ({ status, code, detail }) => ({ success: false, message: `${detail} (${status} ${code})` }),
  handle(request) {
    const { what } = request.json();
    if (what === 'bug') throw new TypeError('the inner detail');
    if (what === 'nobody') throw new AgentdError('token_missing', 'Who are you?');
    if (what === 'nothing') throw new AgentdError('not_found', 'There is no such entry.');
    return { body: { success: true, message: 'Done.' } };
  },
};
const removal: Route = { ...registry, method: 'DELETE', limited: false };

const ORIGIN = 'https://shop.example';

describe('a route with its own form of refusals', () => {
  let web: Served;
  let url: string;
  beforeAll(async () => {
    const settings = { RATE_LIMIT_ANONYMOUS_MAX: 100 };
    web = await serve({ routes: [registry, removal], settings });
    url = `${web.url}/registry`;
  });
  afterAll(closeAll);

  const answerOf = async (response: Response) => {
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('x-request-id')).toMatch(/./);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const body = (await response.json()) as { success: boolean; message: string };
    expect(Object.keys(body)).toEqual(['success', 'message']);
    expect(body.success).toBe(false);
    return { status: response.status, message: body.message };
  };

  test.each<[number, string, () => Promise<Response>]>([
    [400, 'malformed_json', () => post(url, '{')],
    [401, 'token_missing', () => post(url, '{"what":"nobody"}')],
    [404, 'not_found', () => post(url, '{"what":"nothing"}')],
    [405, 'method_not_allowed', () => fetch(url, { method: 'PUT', body: 'x' })],
    [413, 'body_too_large', () => post(url, JSON.stringify({ what: 'x'.repeat(3000) }))],
    [415, 'unsupported_media_type', () => post(url, 'what=x', { 'Content-Type': 'text/plain' })],
    [500, 'internal_error', () => post(url, '{"what":"bug"}')],
  ])('reports %i %s in its own form', async (status, code, send) => {
    const answer = await answerOf(await send());
    expect(answer.status).toBe(status);
    expect(answer.message).toMatch(new RegExp(` \\(${status} ${code}\\)$`));
    expect(answer.message).not.toContain('inner detail');
  });

  test('keeps the headers of a refusal', async () => {
    const wrong = await fetch(url, { method: 'GET' });
    expect(wrong.headers.get('allow')).toBe('POST, DELETE, OPTIONS');
    await answerOf(wrong);
    const nobody = await post(url, '{"what":"nobody"}', { Origin: ORIGIN });
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer');
    expect(nobody.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    await answerOf(nobody);
  });

  test('answers OPTIONS without a body, like any other route', async () => {
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { Origin: ORIGIN, 'Access-Control-Request-Method': 'POST' },
    });
    expect([preflight.status, await preflight.text()]).toEqual([204, '']);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST, DELETE, OPTIONS');
    expect(preflight.headers.get('allow')).toBe('POST, DELETE, OPTIONS');
  });

  test('does not change its successful answers or the problem documents of other paths', async () => {
    expect(await (await post(url, '{}')).json()).toEqual({ success: true, message: 'Done.' });
    expect(await problem(await fetch(`${url}/x`))).toMatchObject({ type: 'about:blank', code: 'not_found' });
  });

  test('refuses with 429 and the time to wait', async () => {
    const { url: narrow } = await serve({ routes: [registry], settings: { RATE_LIMIT_ANONYMOUS_MAX: 1 } });
    await post(`${narrow}/registry`, '{}');
    const refused = await post(`${narrow}/registry`, '{}');
    expect(refused.headers.get('retry-after')).toBe('12');
    expect(refused.headers.get('ratelimit')).toMatch(/./);
    expect((await answerOf(refused)).message).toContain('(429 rate_limited)');
  });

  test('refuses with 503 and the time to wait if the store is unreachable or while the daemon stops', async () => {
    const limits: LimitStore = { hit: () => Promise.reject(new StoreUnavailable(new Error('disk'))) };
    const broken = await serve({ routes: [registry], limits });
    const refused = await post(`${broken.url}/registry`, '{}');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]/);
    expect(await answerOf(refused)).toMatchObject({
      status: 503,
      message: expect.stringContaining('(503 unavailable)'),
    });
    const stopping = await serve({ routes: [registry] });
    await stopping.server.drain(0);
    const late = await post(`${stopping.url}/registry`, '{}');
    expect(late.headers.get('retry-after')).toBe('5');
    expect((await answerOf(late)).status).toBe(503);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no words');
      },
    ],
    [
      'returns something that is not JSON',
      () => {
        const circle: Record<string, unknown> = {};
        circle.self = circle;
        return circle;
      },
    ],
    ['returns nothing', () => undefined as unknown as object],
  ])(
    'refuses with a problem document, and logs this, if its function `refusal` %s',
    async (_how, refusal) => {
      const odd = await serve({ routes: [{ ...registry, limited: false, refusal }] });
      const response = await post(`${odd.url}/registry`, '{"what":"nothing"}');
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(await problem(response)).toMatchObject({ code: 'not_found' });
      expect(odd.log.some(({ msg }) => msg === '`refusal` of a route failed')).toBe(true);
    },
  );
});

describe('a route with its own headers', () => {
  const counted: Route = {
    ...registry,
    path: '/counted',
    headers: (request) => ({ 'X-Counted': String(request.json().count) }),
  };
  const broken: Route = {
    ...registry,
    path: '/broken',
    headers() {
      throw new TypeError('the inner detail');
    },
  };
  const framing: Route = { ...registry, path: '/framing', headers: () => ({ 'Content-Length': '3' }) };
  let web: Served;
  beforeAll(async () => {
    web = await serve({ routes: [counted, broken, framing], settings: { RATE_LIMIT_ANONYMOUS_MAX: 3 } });
  });
  afterAll(closeAll);

  test('has these headers in every answer, unless the request lacks the data for them', async () => {
    const answers = [];
    for (const body of ['{"count":1}', '{"count":2,"what":"nobody"}', '{"count":', '{"count":3}']) {
      const response = await post(`${web.url}/counted`, body);
      answers.push([response.status, response.headers.get('x-counted')]);
    }
    expect(answers).toEqual([
      [200, '1'],
      [401, '2'],
      [400, null],
      [429, '3'],
    ]);
  });

  test.each(['/broken', '/framing'])('fails with 500 if it cannot create these headers: %s', async (path) => {
    const response = await post(`${web.url}${path}`, '{}');
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).not.toContain('inner detail');
    expect(text).toContain('internal_error');
  });
});
