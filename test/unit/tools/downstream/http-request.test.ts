import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createPlainServer, type Socket } from 'node:net';
import { setImmediate as iteration } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../../src/daemon/time/clock.ts';
import { TimeLimit } from '../../../../src/daemon/time/time-limit.ts';
import { BodyTooLong, httpRequest } from '../../../../src/daemon/tools/downstream/http-request.ts';
import { answersTwice } from '../../../support/answers-twice.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

let answer: RequestListener;
let url: URL;
/** Sockets of the requests, in order. */
let sockets: Socket[];
let server: ReturnType<typeof createServer>;

beforeEach(async () => {
  sockets = [];
  server = createServer((request, response) => {
    sockets.push(request.socket);
    answer(request, response);
  });
  url = new URL(`http://127.0.0.1:${await listenOnFreePort(server)}/`);
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const limitOf = (...signals: AbortSignal[]) => new TimeLimit(systemClock, 60_000, signals);
const READ = { method: 'GET', headers: {}, body: undefined, maxBytes: 1_000 };
const send = async (method = 'GET', ...signals: AbortSignal[]) => {
  const { body, ...response } = await httpRequest(url, { ...READ, method, limit: limitOf(...signals) });
  return { ...response, text: body.toString() };
};

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const)(
  'a body that is compressed with %s is read, and the limit applies to its decompressed size',
  async (encoding, compress) => {
    answer = (_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(compress('{"ä":1}'));
    expect(await send()).toMatchObject({ status: 200, text: '{"ä":1}' });
    answer = (_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(compress('x'.repeat(2_000)));
    await expect(send()).rejects.toThrow(BodyTooLong);
  },
);

test('a connection is kept and reused', async () => {
  answer = (_request, response) => response.end('ok');
  await send();
  await send();
  expect(new Set(sockets).size).toBe(1);
});

test('at most 64 connections to a server are kept', async () => {
  const waiting: (() => void)[] = [];
  answer = (_request, response) => {
    waiting.push(() => response.end('ok'));
    if (waiting.length === 66) for (const end of waiting) end();
  };
  await Promise.all(Array.from({ length: 66 }, () => send()));
  const count = () => new Promise((resolve) => server.getConnections((_, open) => resolve(open)));
  await expect.poll(count).toBe(64);
});

test('of the connections that are kept, the one that was used last is used first, so that the others can end', async () => {
  const waiting: (() => void)[] = [];
  const { promise: haveArrived, resolve: arrived } = Promise.withResolvers<void>();
  answer = (_request, response) => {
    if (waiting.push(() => response.end('ok')) === 2) arrived();
  };
  const requests = new Set([send(), send()]);
  for (const request of requests) request.then(() => requests.delete(request));
  await haveArrived;
  for (const end of waiting) {
    end();
    await Promise.race(requests);
  }
  answer = (_request, response) => response.end('ok');
  await send();
  expect(sockets[2]).toBe(sockets[1]);
});

const nameInPath = (request: string) => /^GET \/(\S+)/.exec(request)?.[1];
const askAt = (base: string) => async (person: string) => {
  const { body } = await httpRequest(new URL(person, base), { ...READ, owner: person, limit: limitOf() });
  return body.toString();
};

test.each([
  [0, '200 OK'],
  [5, '200 OK'],
  [50, '200 OK'],
  [110, '504 Gateway Timeout'],
])(
  'an answer too many to one person, after %i ms and a %s, is not given to another',
  async (again_ms, status) => {
    const ask = askAt(await answersTwice(nameInPath, { again_ms, status }));
    for (let n = 0; n < 8; n++) expect(await ask(`person-${n}`)).toBe(`person-${n}`);
  },
);

test('an answer too many is not given to another after the process has stood still', async () => {
  let sendTooMany = () => {};
  const plain = createPlainServer((socket) => {
    const send = (text: string) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    socket
      .on('error', () => undefined)
      .on('data', (request) => {
        send(nameInPath(request.toString()) ?? '');
        sendTooMany = () => send('one too many');
      });
  });
  onTestFinished(() => void plain.close());
  const ask = askAt(`http://127.0.0.1:${await listenOnFreePort(plain)}`);
  expect(await ask('ada')).toBe('ada');
  sendTooMany();
  for (const began = performance.now(); performance.now() < began + 150; );
  expect(await ask('bob')).toBe('bob');
});

test('a connection is used at once for the same owner, and a moment later for another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  answer = (_request, response) => response.end('ok');
  const ask = (owner: string) => httpRequest(url, { ...READ, owner, limit: limitOf() });
  for (const owner of ['alice', 'alice', 'bob']) await ask(owner);
  expect(sockets[1]).toBe(sockets[0]);
  expect(sockets[2]).not.toBe(sockets[0]);
  vi.advanceTimersByTime(100);
  await iteration();
  await ask('carol');
  expect(sockets.slice(0, 3)).toContain(sockets[3]);
  await ask('dave');
  expect(sockets[4]).not.toBe(sockets[3]);
});

test.each([408, 503])('a connection with an answer %s is not used again', async (status) => {
  // A gateway that gave up may still get the real answer, and pass it on to the next request.
  answer = (_request, response) => response.writeHead(status).end();
  for (let time = 0; time < 2; time++) expect((await send()).status).toBe(status);
  expect(sockets[1]).not.toBe(sockets[0]);
});

test('a read is sent once more if its kept connection was closed, but a write is not', async () => {
  for (const [method, isRepeated] of [
    ['GET', true],
    ['POST', false],
  ] as const) {
    sockets = [];
    answer = (_request, response) => response.end('ok');
    await send(method);
    const [kept] = sockets;
    // The server closes the kept connection when the second request arrives over it.
    answer = ({ socket }, response) => (socket === kept ? socket.resetAndDestroy() : response.end('again'));
    const outcome = await send(method).then(
      ({ text }) => text,
      () => 'failed',
    );
    expect([method, outcome]).toEqual([method, isRepeated ? 'again' : 'failed']);
  }
});

test('a request fails if its new connection breaks', async () => {
  answer = ({ socket }) => socket.resetAndDestroy();
  await expect(send()).rejects.toThrow();
  expect(sockets).toHaveLength(1);
});

test('a request that is aborted ends with the reason of the signal, even during the answer', async () => {
  const controllers = [new AbortController(), new AbortController(), new AbortController()];
  const [before, during, within] = controllers as [AbortController, AbortController, AbortController];
  before.abort(new Error('deadline'));
  await expect(send('GET', before.signal)).rejects.toThrow('deadline');
  expect(sockets).toEqual([]);
  answer = () => during.abort(new Error('deadline'));
  await expect(send('GET', during.signal)).rejects.toThrow('deadline');
  answer = (_request, response) => {
    response.writeHead(200).write('x', () => within.abort(new Error('deadline')));
  };
  await expect(send('GET', within.signal)).rejects.toThrow('deadline');
});

test('a request with a line break in a header is refused', async () => {
  answer = (_request, response) => response.end();
  await expect(
    httpRequest(url, { ...READ, limit: limitOf(), headers: { 'X-A': 'a\r\nX-B: c' } }),
  ).rejects.toThrow('invalid x-a header');
  expect(sockets).toEqual([]);
});

test('of several headers whose names differ in case only, the last is sent', async () => {
  let sent: string[] = [];
  answer = ({ rawHeaders }, response) => {
    sent = rawHeaders.filter((_, place) => place % 2 === 1);
    response.end();
  };
  const headers = { 'X-Own': 'of the tool', 'x-own': 'of the daemon' };
  await httpRequest(url, { ...READ, limit: limitOf(), headers });
  expect(sent).toContain('of the daemon');
  expect(sent).not.toContain('of the tool');
});

test('an IPv6 address is not looked up as a host name', async () => {
  const closed = new URL('http://[::1]:1/');
  await expect(httpRequest(closed, { ...READ, limit: limitOf() })).rejects.toMatchObject({
    syscall: 'connect',
    address: '::1',
  });
});

test('a request fails if the answer is incomplete', async () => {
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"a":', () => response.destroy());
  };
  await expect(send()).rejects.toThrow();
});

test('a request has the path and query of the address unchanged, but not its fragment', async () => {
  let asked: string | undefined;
  answer = (request, response) => {
    asked = request.url;
    response.end();
  };
  await httpRequest(new URL('/a%20b/%E2%82%AC?x=1&y=%20#f', url), { ...READ, limit: limitOf() });
  expect(asked).toBe('/a%20b/%E2%82%AC?x=1&y=%20');
});

test('a connection that is still being made ends with the limit', async () => {
  const silent = createPlainServer();
  const port = await listenOnFreePort(silent);
  const controller = new AbortController();
  // The handshake of TLS is never answered.
  const limit = limitOf(controller.signal);
  const request = httpRequest(new URL(`https://127.0.0.1:${port}/`), { ...READ, limit });
  const [socket] = (await once(silent, 'connection')) as [Socket];
  controller.abort(new Error('deadline'));
  await expect(request).rejects.toThrow('deadline');
  await once(socket.resume(), 'close');
  silent.close();
});

test('an answer 1xx before the answer is ignored', async () => {
  answer = (_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.writeHead(201).end('made');
  };
  const { status, headers, text } = await send();
  expect([status, headers.link, text]).toEqual([201, undefined, 'made']);
});

test('of several headers `Location` or `Retry-After`, the first counts', async () => {
  answer = (_request, response) =>
    response
      .writeHead(503, ['Location', '/a', 'Location', '/b', 'Retry-After', '7', 'Retry-After', '9'])
      .end();
  expect((await send()).headers).toMatchObject({ location: '/a', 'retry-after': '7' });
});

test('the library does not replace the connections of the global fetch', async () => {
  answer = (_request, response) => response.end('ok');
  const source = new URL('../../../../src/daemon/tools/downstream/http-request.ts', import.meta.url);
  // In a process of its own: here, other tests may have loaded more of the library.
  const program = `
    const { httpRequest } = await import('${source}');
    const limit = { onEnd: () => () => {} };
    await httpRequest(new URL('${url}'), { method: 'GET', headers: {}, body: undefined, maxBytes: 10, limit });
    const { createRequire } = await import('node:module');
    console.log(Object.keys(createRequire('${source}').cache).join('\\n'));
    process.exit();`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const loaded = (await run).stdout.replaceAll('\\', '/').split('\n');
  expect(loaded.filter((file) => file.includes('/undici/lib/dispatcher/client.js'))).toHaveLength(1);
  expect(loaded.filter((file) => file.includes('/undici/lib/global.js'))).toEqual([]);
});

test('an answer in tiny pieces takes little more memory than its length while it arrives', async () => {
  const pieces = 200_000;
  const sent = Promise.withResolvers<void>();
  answer = (_request, { socket }) =>
    socket?.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(pieces)}`, () =>
      sent.resolve(),
    );
  const used = () => {
    gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const answered = httpRequest(url, { ...READ, maxBytes: 2 * pieces, limit: limitOf() });
  await sent.promise;
  // The client reads on for a while after the last byte was sent.
  await expect.poll(() => used() - before, { interval: 100, timeout: 20_000 }).toBeLessThan(25 * pieces);
  sockets[0]?.write('1\r\nb\r\n0\r\n\r\n');
  expect((await answered).body.toString()).toBe(`${'a'.repeat(pieces)}b`);
});
