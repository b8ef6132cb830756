import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { platformFetch } from '../../../src/daemon/channels/platform-fetch.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';

let answer: RequestListener;
let address: string;
let server: ReturnType<typeof createServer>;

beforeEach(async () => {
  server = createServer((request, response) => answer(request, response));
  address = `http://127.0.0.1:${await listenOnFreePort(server)}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Answers with the request, without the headers by which the global `fetch` says that it is one. */
const echo: RequestListener = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const own = /^(?:accept-(?:language|encoding)|sec-fetch-mode|connection)$/;
  const headers = Object.entries(request.headers).filter(([name]) => !own.test(name));
  response.writeHead(201, 'Made', { 'Content-Type': 'application/json', 'Set-Cookie': ['a=1', 'b=2'] });
  const body = Buffer.concat(chunks).toString();
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: headers.sort(), body }));
};

/** Everything that a channel can see of an answer, apart from headers about the connection. */
async function seen(response: Response) {
  const { status, statusText, ok, url, body } = response;
  const headers = [...response.headers].filter(([name]) => !/^(?:date|connection|keep-alive)$/.test(name));
  return { status, statusText, ok, url, headers, hasBody: body !== null, text: await response.text() };
}

describe('an API call is as with the global fetch', () => {
  it.each<[string, RequestInit]>([
    ['a read', {}],
    [
      'headers of its own',
      { headers: new Headers({ Authorization: 'Bearer x', Accept: 'application/json' }) },
    ],
    ['a text', { method: 'POST', body: 'Grüße' }],
    ['JSON', { method: 'PUT', body: '{}', headers: { 'Content-Type': 'application/json' } }],
    ['no body', { method: 'POST' }],
    ['a deletion', { method: 'DELETE', redirect: 'error' }],
  ])('%s', async (_, init) => {
    answer = echo;
    const request = [`${address}/a%20b?c=%20d#e`, { redirect: 'manual', ...init }] as const;
    expect(await seen(await platformFetch(...request))).toEqual(await seen(await fetch(...request)));
  });

  it.each<[string, RequestListener]>([
    ['a redirect', (_, response) => response.writeHead(302, { Location: '/elsewhere' }).end('there')],
    ['an answer without a body', (_, response) => response.writeHead(204).end()],
    ['an empty answer', (_, response) => response.end()],
    ['an error', (_, response) => response.writeHead(503, { 'Retry-After': '7' }).end('busy')],
    ['a compressed answer', (_, r) => r.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync('ä'))],
    ['bytes that are no text', (_, response) => response.end(Buffer.from([0xff, 0x00, 0xfe]))],
  ])('%s', async (_, listener) => {
    answer = listener;
    const request = [new URL(address), { redirect: 'manual' }] as const;
    expect(await seen(await platformFetch(...request))).toEqual(await seen(await fetch(...request)));
  });

  it('a redirect is an error if it must be', async () => {
    answer = (_, response) => response.writeHead(307, { Location: '/elsewhere' }).end();
    await expect(platformFetch(address, { redirect: 'error' })).rejects.toThrow(TypeError);
  });

  it('a platform that cannot be reached', async () => {
    const failure = { name: 'TypeError', message: 'fetch failed', cause: { code: 'ECONNREFUSED' } };
    await expect(platformFetch('http://127.0.0.1:1', { redirect: 'manual' })).rejects.toMatchObject(failure);
  });

  it('a signal ends it with its reason, also before it begins', async () => {
    const reason = new Error('stopped');
    const aborted = AbortSignal.abort(reason);
    await expect(platformFetch(address, { redirect: 'manual', signal: aborted })).rejects.toBe(reason);
    const controller = new AbortController();
    answer = () => controller.abort(reason);
    const { signal } = controller;
    await expect(platformFetch(address, { redirect: 'manual', signal })).rejects.toBe(reason);
  });
});

it('an address that is none is refused', async () => {
  await expect(platformFetch('/path', { redirect: 'manual' })).rejects.toThrow(TypeError);
});

it('an answer to an API call that has no end is refused', async () => {
  answer = (_, response) => {
    const piece = Buffer.alloc(1_048_576);
    const write = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', write);
    write();
  };
  const refused = await platformFetch(address, { redirect: 'manual' }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
});

it('any other request is made by the global fetch: redirects are followed, and answers arrive in pieces', async () => {
  answer = ({ url }, response) => {
    if (url === '/') response.writeHead(302, { Location: '/there' }).end();
    else response.writeHead(200).write('first');
  };
  const { body, redirected } = await platformFetch(address, { headers: {} });
  expect(redirected).toBe(true);
  const { value } = (await body?.getReader().read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toBe('first');
});
