import { afterAll, beforeAll, expect, test } from 'vitest';
import { LARGE_AT_ONCE } from '../../../src/daemon/http/large-bodies.ts';
import { closeAll, echo, post, problem, type Served, sendRaw, serve, until } from './serve.ts';

// A platform may send more than BODY_LIMIT_BYTES at once; the setting is 2,048 here.

let web: Served;
let gate: PromiseWithResolvers<void>;
let inside: number;

beforeAll(async () => {
  web = await serve({
    routes: [
      echo,
      { ...echo, path: '/large', bodyLimit: 8192 },
      { ...echo, path: '/small', bodyLimit: 1024 },
      {
        method: 'POST',
        path: '/held',
        bodyLimit: 8192,
        async handle() {
          inside++;
          await gate.promise;
          return { status: 204 };
        },
      },
    ],
  });
});
afterAll(closeAll);

const body = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`;
const statusOf = async (path: string, length: number) =>
  (await post(`${web.url}${path}`, body(length))).status;

const CHUNKED_HEAD =
  'POST /large HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunked = (length: number) =>
  sendRaw(web.port, `${CHUNKED_HEAD}${length.toString(16)}\r\n${body(length)}\r\n0\r\n\r\n`);

test('only a route with a bodyLimit takes bodies over the setting, up to its own limit', async () => {
  expect(await statusOf('/large', 8192)).toBe(200);
  expect(await statusOf('/echo', 2049)).toBe(413);
  const refused = await post(`${web.url}/large`, body(8193));
  expect(await problem(refused)).toMatchObject({
    code: 'body_too_large',
    detail: 'The body is larger than 8192 bytes.',
  });
});

test('a bodyLimit below the setting does not lower the limit', async () => {
  expect([await statusOf('/small', 2048), await statusOf('/small', 2049)]).toEqual([200, 413]);
});

test('a body of unknown length has the same limit', async () => {
  expect(await chunked(8192)).toMatch(/^HTTP\/1.1 200 /);
  expect(await chunked(8193)).toMatch(/^HTTP\/1.1 413 /);
});

test('beyond 16 large bodies at once the next one gets 503; smaller bodies are still taken', async () => {
  gate = Promise.withResolvers();
  inside = 0;
  const held = Array.from({ length: LARGE_AT_ONCE }, () => statusOf('/held', 8192));
  await until(() => inside === LARGE_AT_ONCE);

  const refused = await post(`${web.url}/large`, body(2049));
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await problem(refused)).toMatchObject({ code: 'unavailable' });
  expect(await statusOf('/large', 2048)).toBe(200);
  expect(await chunked(2048)).toMatch(/^HTTP\/1.1 200 /);
  expect(await chunked(2049)).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\nRetry-After: 5\r\n/);
  // A refused body takes no room.
  expect(await statusOf('/large', 8193)).toBe(413);

  gate.resolve();
  expect(new Set(await Promise.all(held))).toEqual(new Set([204]));
  expect(await statusOf('/large', 8192)).toBe(200);
});
