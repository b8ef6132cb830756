import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../src/channel/index.ts';
import { AgentdError } from '../../../src/daemon/errors.ts';
import { closeAll, echo, problem, type Served, sendRaw, serve } from './serve.ts';

const throwing = (path: string, error: () => unknown): Route => ({
  method: 'GET',
  path,
  handle() {
    throw error();
  },
});

describe('problem documents', () => {
  let web: Served;
  beforeAll(async () => {
    web = await serve({
      routes: [
        echo,
        { method: 'GET', path: '/things/:name', handle: ({ params }) => ({ body: { ...params } }) },
        throwing('/bug', () => new TypeError('the inner detail')),
        throwing('/odd', () => 'no error at all'),
        throwing('/signature', () => new AgentdError('invalid_signature', 'The signature is wrong.')),
        throwing(
          '/busy',
          () => new AgentdError('unavailable', 'Later.', { retryAfter: 1.2, cause: new Error('disk') }),
        ),
        throwing(
          '/fields',
          () =>
            new AgentdError('invalid_request', 'Two.', {
              errors: [{ field: 'message', message: 'is required' }],
            }),
        ),
        throwing('/guard', () => {
          const members = { reason: 'repetition' } as const;
          return new AgentdError('loop_guard_blocked', 'Too often.', { members });
        }),
        { method: 'GET', path: '/circle', handle: () => ({ body: circle() }) },
      ],
    });
  });
  afterAll(closeAll);

  test('describe an unknown path as 404 not_found, with every member of the document', async () => {
    const response = await fetch(`${web.url}/nowhere`, { headers: { 'X-Request-Id': 'my.id-1_a' } });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('x-request-id')).toBe('my.id-1_a');
    expect(await problem(response)).toEqual({
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'There is no such path.',
      code: 'not_found',
      request_id: 'my.id-1_a',
    });
  });

  test.each(['/Echo', '/echo/', '/things/a%ZZ', '/things/%FF', '//echo'])(
    'describe %s as unknown, because paths are exact and case-sensitive, and invalid encodings match nothing',
    async (path) => {
      const response = await fetch(`${web.url}${path}`);
      expect([response.status, (await problem(response)).code]).toEqual([404, 'not_found']);
    },
  );

  test('are not sent for an encoded path parameter, which the handler gets decoded', async () => {
    expect(await (await fetch(`${web.url}/things/a%20b%2Fc?x=1`)).json()).toEqual({ name: 'a b/c' });
  });

  test('describe a wrong method as 405, with the allowed methods', async () => {
    const response = await fetch(`${web.url}/echo`, { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST, OPTIONS');
    expect(await problem(response)).toMatchObject({
      code: 'method_not_allowed',
      detail: 'The path does not support DELETE.',
    });
    expect((await fetch(`${web.url}/things/a`, { method: 'POST' })).headers.get('allow')).toBe(
      'GET, HEAD, OPTIONS',
    );
  });

  test('are left out of responses to HEAD, which have the status and the headers of GET, but no body', async () => {
    const response = await fetch(`${web.url}/things/a`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String('{"name":"a"}'.length));
    expect(await response.text()).toBe('');
    expect((await fetch(`${web.url}/echo`, { method: 'HEAD' })).status).toBe(405);
  });

  test.each(['/bug', '/odd', '/circle'])(
    'describe an unexpected value (%s) as 500, with a fixed text',
    async (path) => {
      const response = await fetch(`${web.url}${path}`, {
        headers: { 'X-Request-Id': `unexpected${path.slice(1)}` },
      });
      expect(response.status).toBe(500);
      const document = await problem(response);
      expect(document).toMatchObject({
        title: 'Internal Server Error',
        code: 'internal_error',
        detail: 'Something unexpected happened; search the log for the request_id.',
      });
      expect(JSON.stringify(document)).not.toContain('inner');
      const line = web.log.find(
        ({ msg, request_id }) => msg === 'unexpected error' && request_id === document.request_id,
      );
      expect(line).toMatchObject({ level: 50 });
      expect(JSON.stringify(line?.err)).toMatch(path === '/odd' ? 'no error at all' : 'stack');
    },
  );

  test('have a header that names the authentication scheme if the status is 401', async () => {
    const response = await fetch(`${web.url}/signature`);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await problem(response)).code).toBe('invalid_signature');
  });

  test('have a header with the wait in whole seconds if the status is 503, and the cause is logged', async () => {
    const response = await fetch(`${web.url}/busy`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
    expect(web.log.find(({ msg }) => msg === 'request failed')).toMatchObject({
      level: 40,
      code: 'unavailable',
    });
  });

  test('name the invalid fields', async () => {
    const response = await fetch(`${web.url}/fields`);
    expect(await problem(response)).toMatchObject({
      code: 'invalid_request',
      detail: 'Two.',
      errors: [{ field: 'message', message: 'is required' }],
    });
  });

  test('have the further members of their code', async () => {
    expect(await problem(await fetch(`${web.url}/guard`))).toMatchObject({
      code: 'loop_guard_blocked',
      reason: 'repetition',
    });
  });

  test.each(['', 'has space', 'ä', 'x'.repeat(65), 'a,b'])(
    'are sent with a new request id if the id of the request is invalid: %j',
    async (id) => {
      const answer = await sendRaw(
        web.port,
        `GET /nowhere HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^X-Request-Id: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\r$/m);
    },
  );

  test('have the security headers, like every response', async () => {
    for (const path of ['/', '/nowhere', '/bug']) {
      const { headers } = await fetch(`${web.url}${path}`);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});

describe('invalid requests:', () => {
  let web: Served;
  beforeAll(async () => {
    web = await serve({ routes: [echo], requestTimeout: 200 });
  });
  afterAll(closeAll);

  const refused = (answer: string, status: number, phrase: string) => {
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} ${phrase}\r\n`));
    const id = /^X-Request-Id: (.+)\r$/m.exec(answer)?.[1];
    expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/im);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
      status,
      title: phrase,
      code: 'invalid_request',
      request_id: id,
    });
  };

  test('input that is not HTTP gets 400', async () => {
    refused(await sendRaw(web.port, 'HELO there\r\n\r\n'), 400, 'Bad Request');
  });

  test('headers beyond the limit get 431', async () => {
    const big = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`;
    refused(await sendRaw(web.port, big), 431, 'Request Header Fields Too Large');
  });

  test('a body that does not arrive in time gets 408', async () => {
    const slow =
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
    refused(await sendRaw(web.port, slow), 408, 'Request Timeout');
  });

  test('HTTP/1.1 without a Host header gets 400', async () => {
    refused(await sendRaw(web.port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'), 400, 'Bad Request');
  });

  test('two Host headers get 400, because a proxy may have used the other header', async () => {
    const web = await serve();
    const head = 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n';
    refused(await sendRaw(web.port, head), 400, 'Bad Request');
  });

  test('CONNECT gets 405 with a problem document before the connection is closed', async () => {
    const web = await serve();
    const answer = await sendRaw(
      web.port,
      'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nX-Request-Id: mine\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\nX-Request-Id: mine\r\n/);
    expect(answer).toMatch(/\r\nAllow: GET, HEAD, POST, DELETE, OPTIONS\r\n/);
    expect(answer).toContain('"code":"method_not_allowed"');
  });

  test.each(['BREW', 'patch', 'M-SEARCH2'])('the unknown method %s gets 405 with Allow', async (method) => {
    const web = await serve();
    const answer = await sendRaw(web.port, `${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\nX-Request-Id: \S+\r\n/);
    expect(answer).toMatch(/\r\nAllow: GET, HEAD, POST, DELETE, OPTIONS\r\n/);
    expect(answer).toContain('"code":"method_not_allowed"');
  });

  test('an unknown expectation is ignored, and request targets of every form get an answer', async () => {
    const request = (line: string) =>
      `${line} HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(web.port, request('GET /'))).toMatch(/^HTTP\/1.1 200 /);
    expect(await sendRaw(web.port, request('GET http://a:99999999/x'))).toMatch(/^HTTP\/1.1 404 /);
    expect(await sendRaw(web.port, request('OPTIONS *'))).toMatch(/^HTTP\/1.1 204 /);
  });
});

function circle(): object {
  const self: Record<string, unknown> = {};
  self.self = self;
  return self;
}
