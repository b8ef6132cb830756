import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChannelRequest, ChannelResponse, ResponseStream, Route } from '../../../src/channel/index.ts';
import { AgentdError } from '../../../src/daemon/errors.ts';
import { ReceivedRequest } from '../../../src/daemon/http/received-request.ts';
import { StoreFull } from '../../../src/daemon/store/failures.ts';
import { closeAll, echo, limited, post, problem, sendRaw, serve, until } from './serve.ts';

afterEach(closeAll);

/** A route that answers only after the test calls `finish`. */
function slow(): { route: Route; arrived: Promise<void>; finish: () => void } {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<ChannelResponse>();
  return {
    arrived: arrived.promise,
    finish: () => answer.resolve({ body: { done: true } }),
    route: {
      method: 'GET',
      path: '/slow',
      handle() {
        arrived.resolve();
        return answer.promise;
      },
    },
  };
}

describe('GET /', () => {
  test('returns the active platforms and their state', async () => {
    const web = await serve();
    const response = await fetch(`${web.url}/`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({
      status: 'ok',
      platforms: ['web'],
      adapters: { web: { status: 'ok' } },
    });
    expect(response.headers.get('x-agent-digest')).toBe('digest');
  });

  test('reports a channel as degraded if the channel says so or cannot report its health', async () => {
    const degraded = await serve({ health: () => ({ status: 'degraded', detail: 'no answer' }) });
    expect(await (await fetch(`${degraded.url}/`)).json()).toMatchObject({
      status: 'ok',
      adapters: { web: { status: 'degraded', detail: 'no answer' } },
    });
    const throwing = () => {
      throw new Error('password123');
    };
    for (const health of [throwing, async () => throwing()]) {
      const broken = await serve({ health: health as never });
      expect(await (await fetch(`${broken.url}/`)).json()).toMatchObject({
        adapters: { web: { status: 'degraded', detail: 'The channel could not report its health.' } },
      });
    }
  });

  test.each<[unknown, object]>([
    [{ status: 'ok', detail: 'x', token: 'secret' }, { status: 'ok' }],
    [
      { status: 'degraded', detail: 'slow', token: 'secret' },
      { status: 'degraded', detail: 'slow' },
    ],
    [{ status: 'degraded' }, { status: 'degraded', detail: 'The channel gives no reason.' }],
    [{ status: 'fine' }, { status: 'degraded', detail: 'The channel could not report its health.' }],
    [7, { status: 'degraded', detail: 'The channel could not report its health.' }],
  ])('has the documented form, whatever a channel reports: %j', async (said, adapter) => {
    const web = await serve({ health: () => said as never });
    const { adapters } = (await (await fetch(`${web.url}/`)).json()) as { adapters: object };
    expect(adapters).toEqual({ web: adapter });
  });

  test('reports a platform that the inbox cannot reach, unless the channel itself reports more', async () => {
    const outage = { status: 'degraded', detail: 'it cannot be reached' } as const;
    const own = { status: 'degraded', detail: 'the token is refused' } as const;
    for (const [said, adapter] of [
      [{ status: 'ok' } as const, outage],
      [own, own],
    ] as const) {
      const findOutage = (platform: string) => (platform === 'web' ? outage : null);
      const web = await serve({ health: () => said, findOutage });
      expect(await (await fetch(`${web.url}/`)).json()).toMatchObject({ adapters: { web: adapter } });
    }
  });
});

describe('a daemon whose store is almost full', () => {
  const say: Route = { method: 'POST', path: '/say', handle: () => ({ body: {} }) };
  const read: Route = { method: 'GET', path: '/read', handle: () => ({ body: {} }) };

  test('accepts no new messages, but still answers other requests', async () => {
    const store = { full: true };
    const web = await serve({
      routes: [say, read, { ...limited, path: '/limited' }],
      // Such as that of a sign-out at the site, which must not be refused.
      ownRoutes: [{ ...say, path: '/own' }],
      expectRoom() {
        if (store.full) throw new StoreFull();
      },
    });
    for (const path of ['/say', '/limited']) {
      const refused = await post(`${web.url}${path}`, '{}');
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
      expect(await problem(refused)).toMatchObject({
        code: 'unavailable',
        detail: 'The store is almost full and accepts no new messages at the moment.',
      });
    }
    expect(web.hits).toEqual([]);
    for (const path of ['/', '/read']) expect((await fetch(`${web.url}${path}`)).status).toBe(200);
    expect((await post(`${web.url}/own`, '{}')).status).toBe(200);
    store.full = false;
    expect((await post(`${web.url}/say`, '{}')).status).toBe(200);
  });
});

describe('the answer of a route', () => {
  const answering = (response: ChannelResponse): Route => ({
    method: 'GET',
    path: '/answer',
    handle: () => response,
  });

  test.each<[string, ChannelResponse, number, string | null, string]>([
    ['an object', { body: { a: 'ü' } }, 200, 'application/json; charset=utf-8', '{"a":"ü"}'],
    ['text', { status: 201, body: '<b>' }, 201, 'text/plain; charset=utf-8', '<b>'],
    ['bytes', { body: new Uint8Array([104, 105]) }, 200, 'application/octet-stream', 'hi'],
    ['nothing', {}, 200, null, ''],
    ['nothing, with status 204', { status: 204 }, 204, null, ''],
    ['a status without a body', { status: 204, body: { a: 1 } }, 204, null, ''],
    ['its own type', { headers: { 'content-type': 'text/html' }, body: '<p>' }, 200, 'text/html', '<p>'],
  ])('has the right status, type and body for %s', async (_, response, status, type, text) => {
    const web = await serve({ routes: [answering(response)] });
    const got = await fetch(`${web.url}/answer`);
    expect([got.status, got.headers.get('content-type'), await got.text()]).toEqual([status, type, text]);
  });

  test('has the headers of the route, which replace other headers but extend Vary, and every cookie', async () => {
    const headers = {
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Set-Cookie': ['a=1', 'b=2'],
      Vary: 'Accept',
    };
    const web = await serve({ routes: [{ ...answering({ headers }), cors: true }] });
    const got = await fetch(`${web.url}/answer`);
    expect(got.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(got.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(got.headers.get('vary')).toBe('Origin, Accept');
  });

  test.each<[string, ChannelResponse]>([
    ['a line break in a header', { headers: { 'X-A': 'a\r\nSet-Cookie: b=1' }, body: 'a' }],
    ['an invalid header name', { headers: { 'X A': 'a' }, body: 'a' }],
    ['another request id', { headers: { 'x-request-id': 'a' }, body: 'a' }],
    ['a framing header', { headers: { 'Content-Length': '3' }, body: 'abc' }],
    ['an invalid status', { status: 99 }],
  ])('becomes a 500 if it contains %s, and no part of it is sent', async (_, response) => {
    const web = await serve({
      routes: [answering({ ...response, headers: { ...response.headers, 'X-B': 'b' } })],
    });
    const got = await fetch(`${web.url}/answer`);
    expect(got.status).toBe(500);
    expect([got.headers.has('x-b'), got.headers.has('set-cookie')]).toEqual([false, false]);
    expect((await problem(got)).code).toBe('internal_error');
  });
});

test('a reload changes the limits of the next request', async () => {
  const web = await serve({ routes: [limited] });
  expect((await post(`${web.url}/limited`, '{"long":true}')).status).toBe(200);
  web.reload({ BODY_LIMIT_BYTES: 10, RATE_LIMIT_ANONYMOUS_MAX: 5, RATE_LIMIT_WINDOW_SECONDS: 30 });
  const refused = await post(`${web.url}/limited`, '{"long":true}');
  expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([413, '"address";q=5;w=30']);
});

test('a request that was answered, or refused, does not hold up the next one of its thread', async () => {
  const waits: boolean[] = [];
  const route: Route = {
    ...{ method: 'POST', path: '/telex', thread: (request) => request.json().thread as string },
    handle(request) {
      waits.push(ReceivedRequest.of(request)?.ticket?.reached !== null);
      if (request.json().refused) throw new AgentdError('invalid_request', 'No.');
      return { body: {} };
    },
  };
  const web = await serve({ routes: [route] });
  for (const refused of [true, false, false])
    await post(`${web.url}/telex`, JSON.stringify({ thread: 'a', refused }));
  expect(waits).toEqual([false, false, false]);
});

test('only a request that names a thread gets a ticket; one that cannot be read fails in its handler', async () => {
  const seen: boolean[] = [];
  const route: Route = {
    method: 'POST',
    path: '/telex',
    thread: (request) => request.json().thread as string | null,
    handle(request) {
      seen.push(ReceivedRequest.of(request)?.ticket !== null);
      return { body: request.json() };
    },
  };
  const web = await serve({ routes: [route] });
  const statuses = [];
  for (const body of ['{"thread":"a"}', '{"thread":null}', '{'])
    statuses.push((await post(`${web.url}/telex`, body)).status);
  expect([statuses, seen]).toEqual([
    [200, 200, 400],
    [true, false, false],
  ]);
});

test.each(['token', 'thread', 'headers', 'refusal'])(
  'a route whose function `%s` returns a promise that rejects fails, and the process lives on',
  async (member) => {
    const handle = (request: ChannelRequest) => ({ body: request.json() });
    const broken = { method: 'POST', path: '/telex', handle, [member]: async () => Promise.reject('broken') };
    const web = await serve({ routes: [broken as unknown as Route] });
    const response = await post(`${web.url}/telex`, '{');
    expect(response.status).toBe(member === 'refusal' ? 400 : 500);
    expect(web.log).toContainEqual(
      expect.objectContaining({
        err: expect.objectContaining({
          message: `\`${member}\` returned a promise, but must return a plain value`,
        }),
      }),
    );
  },
);

describe('a client that sends requests without waiting for the answers', () => {
  const head = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const last = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

  test('gets an answer to each of 100 requests', async () => {
    const web = await serve();
    const answer = await sendRaw(web.port, head.repeat(99) + last);
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(100);
  });

  test('loses its connection if more requests wait, and none of the rest is handled', async () => {
    let handled = 0;
    const route: Route = {
      method: 'GET',
      path: '/wait',
      handle: () => new Promise(() => void handled++),
    };
    const web = await serve({ routes: [route] });
    const answer = await sendRaw(web.port, head.replace('/', '/wait').repeat(2000));
    expect([answer, handled]).toEqual(['', 100]);
    expect(
      web.log.filter(({ msg }) => msg === 'a connection with too many waiting requests was closed'),
    ).toEqual([expect.objectContaining({ level: 20, address: '127.0.0.1' })]);
    expect((await fetch(`${web.url}/`)).status).toBe(200);
  });

  test('may send any number of requests on a connection, each after the answer to the one before', async () => {
    const web = await serve();
    let answers = 0;
    const socket = connect(web.port, '127.0.0.1', () => socket.write(head));
    socket.setEncoding('utf8').on('data', (text: string) => {
      const ended = text.match(/"status":"ok","platforms"/g)?.length ?? 0;
      answers += ended;
      if (ended > 0 && answers < 50) socket.write(head);
    });
    await until(() => answers === 50 || socket.closed);
    socket.destroy();
    expect(answers).toBe(50);
  });
});

describe('the log line of a request', () => {
  // The router decodes a path, so both lead to the stream.
  test.each(['sse_AbCdEf0123456789abcdef', 'sse%5FAbCdEf%30123456789abcdef'])(
    'has the path without the query and without the random part of ids: %s',
    async (id) => {
      const route: Route = { method: 'GET', path: '/sse/stream/:id', handle: () => ({ body: {} }) };
      const web = await serve({ routes: [route] });
      await fetch(`${web.url}/sse/stream/${id}?token=secret-token`, { headers: { 'X-Request-Id': 'r1' } });
      await until(() => web.log.length > 0);
      expect(web.log).toMatchObject([
        {
          level: 20,
          msg: 'request',
          request_id: 'r1',
          address: '127.0.0.1',
          method: 'GET',
          path: '/sse/stream/sse_AbCdEf…',
          status: 200,
        },
      ]);
      expect(JSON.stringify(web.log)).not.toMatch(/secret-token|123456789/);
    },
  );

  test('says nothing of a client that got its answer; a handler that asks too late is notified at once', async () => {
    const signals: AbortSignal[] = [];
    const left = Promise.withResolvers<void>();
    const route: Route = {
      method: 'GET',
      path: '/:when',
      async handle(request) {
        if (request.params.when === 'late') await left.promise;
        signals.push(request.signal);
        return {};
      },
    };
    const web = await serve({ routes: [route] });
    const closed = (path: string) => until(() => web.log.some((line) => line.path === path));
    await fetch(`${web.url}/soon`);
    await closed('/soon');
    const socket = connect(web.port, '127.0.0.1', () =>
      socket.write('GET /late HTTP/1.1\r\nHost: a\r\n\r\n', () => socket.resetAndDestroy()),
    );
    await closed('/late');
    left.resolve();
    await until(() => signals.length === 2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });

  test('has the code of the problem that was answered', async () => {
    const web = await serve({ routes: [] });
    await fetch(`${web.url}/nowhere`);
    await until(() => web.log.length > 0);
    expect(web.log).toMatchObject([{ level: 30, msg: 'request', status: 404, code: 'not_found' }]);
  });

  test('has no random part of an id at the end of what is shown of a path, even if ids before it got shorter', async () => {
    const web = await serve({ routes: [] });
    const id = 'sse_AbCdEf0123456789abcdef';
    for (let before = 200; before < 300; before++)
      await fetch(`${web.url}/${id}/${'x'.repeat(before)}/${id}`);
    await until(() => web.log.length === 100);
    expect(JSON.stringify(web.log)).not.toContain('AbCdEf0');
  });

  test('is only at debug level if the client disconnects, and the handler is notified', async () => {
    const gone = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const route: Route = {
      method: 'GET',
      path: '/wait',
      handle: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            gone.resolve();
            reject(signal.reason);
          });
          arrived.resolve();
        }),
    };
    const web = await serve({ routes: [route, echo] });
    const leaving = new AbortController();
    const answer = fetch(`${web.url}/wait`, { signal: leaving.signal }).catch(() => 'left');
    await arrived.promise;
    leaving.abort();
    await gone.promise;
    expect(await answer).toBe('left');
    await until(() => web.log.some(({ path }) => path === '/wait'));
    expect(web.log.find(({ path }) => path === '/wait')).toMatchObject({ status: 499 });
    const half =
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
    const socket = connect(web.port, '127.0.0.1', () => socket.write(half, () => socket.resetAndDestroy()));
    await until(
      () =>
        web.log.filter(({ msg }) => msg === 'the connection closed before the response was complete')
          .length === 2,
    );
    expect(web.log.filter(({ level }) => level >= 30)).toEqual([]);
  });
});

describe('a stream', () => {
  const streaming = (
    body: (out: ResponseStream) => Promise<void>,
    method: Route['method'] = 'GET',
  ): Route => ({
    method,
    path: '/stream',
    handle: () => ({ headers: { 'Content-Type': 'text/event-stream' }, body }),
  });

  test('sends its head at once, and each piece as it is written', async () => {
    const go = Promise.withResolvers<void>();
    const web = await serve({
      routes: [
        streaming(async (out) => {
          await go.promise;
          out.write('one,');
          out.write(new Uint8Array([50]));
        }),
      ],
    });
    const response = await fetch(`${web.url}/stream`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.has('x-request-id')).toBe(true);
    go.resolve();
    expect(await response.text()).toBe('one,2');
  });

  test('closes its connection to a proxy, so that the proxy does not reuse it when the daemon stops', async () => {
    const web = await serve({ routes: [streaming(async (out) => void out.write('all'))] });
    const head = 'GET /stream HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n';
    const answer = await sendRaw(web.port, `${head}${head}`);
    expect(answer.match(/^HTTP\/1\.1 200/gm)).toHaveLength(1);
    expect(answer).toContain('Connection: close');
    expect(answer).toMatch(/all\r\n0\r\n\r\n$/);
  });

  test.each([
    ['after another answer on its connection', 'HTTP/1.1', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', ''],
    ['and keeps the connection open', 'HTTP/1.1', '', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['twice on a connection', 'HTTP/1.1', 'GET /stream HTTP/1.1\r\nHost: a\r\n\r\n', ''],
  ])('is complete %s', async (_where, version, before, behind) => {
    const frame = new Uint8Array([50]);
    const web = await serve({
      routes: [
        streaming(async (out) => {
          for (const piece of ['one,', '', frame, new Uint8Array(), frame]) out.write(piece);
        }),
      ],
    });
    const last = 'GET /gone HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const answer = await sendRaw(
      web.port,
      `${before}GET /stream ${version}\r\nHost: a\r\n\r\n${behind}${last}`,
    );
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(
      [before, 'stream', behind]
        .filter(Boolean)
        .map(() => '200')
        .concat('404'),
    );
    expect(answer).toContain('\r\n\r\n4\r\none,\r\n1\r\n2\r\n1\r\n2\r\n0\r\n\r\nHTTP/1.1');
  });

  test.each([
    ['alone', ''],
    ['after another answer on its connection', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('has nothing that is written after its end, %s', async (_where, before) => {
    const late: boolean[] = [];
    const web = await serve({
      routes: [
        streaming(async (out) => {
          out.write('all');
          const write = () => void late.push(out.write('late'));
          setTimeout(write);
          setImmediate(write);
          process.nextTick(write);
          setImmediate(() => process.nextTick(write));
        }),
      ],
    });
    const last = 'GET /gone HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const answer = await sendRaw(web.port, `${before}GET /stream HTTP/1.1\r\nHost: a\r\n\r\n${last}`);
    await until(() => late.length === 4);
    expect(answer).toContain('\r\n3\r\nall\r\n0\r\n\r\nHTTP/1.1 404');
    expect(late).toEqual([false, false, false, false]);
  });

  test('can be read even by HTTP/1.0 clients, without chunks', async () => {
    const web = await serve({
      routes: [
        streaming(async (out) => {
          out.write('one,');
          out.write('two');
        }),
      ],
    });
    const answer = await sendRaw(web.port, 'GET /stream HTTP/1.0\r\nHost: a\r\n\r\n');
    expect(answer).toMatch(/\r\n\r\none,two$/);
  });

  test('writes nothing for a HEAD request', async () => {
    let written = false;
    const web = await serve({
      routes: [
        streaming(async () => {
          written = true;
        }),
      ],
    });
    expect((await fetch(`${web.url}/stream`, { method: 'HEAD' })).status).toBe(200);
    expect(written).toBe(false);
  });

  test('waits for a slow reader, and stops waiting when the reader disconnects', async () => {
    const full = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<boolean>();
    const web = await serve({
      routes: [
        streaming(async (out) => {
          const piece = new Uint8Array(64 * 1024);
          while (out.write(piece));
          full.resolve();
          while (!out.signal.aborted) {
            await out.drained();
            out.write(piece);
          }
          ended.resolve(out.write('too late'));
        }),
      ],
    });
    const socket = connect(web.port, '127.0.0.1', () =>
      socket.write('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n'),
    );
    socket.pause();
    await full.promise;
    socket.destroy();
    expect(await ended.promise).toBe(false);
    await until(() => web.log.length > 0);
    expect(web.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  test('breaks its connection if it fails, because the head has already been sent', async () => {
    const web = await serve({
      routes: [
        streaming(async (out) => {
          out.write('half');
          throw new Error('the writer failed');
        }),
      ],
    });
    const answer = await sendRaw(web.port, 'GET /stream HTTP/1.1\r\nHost: a\r\n\r\n').catch(String);
    expect(answer).not.toMatch(/0\r\n\r\n$/);
    expect(web.log.find(({ msg }) => msg === 'unexpected error')).toMatchObject({ level: 50 });
  });
});

describe('a server that is stopping', () => {
  test('finishes running requests, refuses new requests on all connections, and closes the connections', async () => {
    const { route, arrived, finish } = slow();
    const web = await serve({ routes: [route, echo, limited] });
    const running = fetch(`${web.url}/slow`);
    await arrived;
    const drained = web.server.drain(20_000);
    for (const response of [
      await fetch(`${web.url}/`),
      await fetch(`${web.url}/nowhere`),
      await post(`${web.url}/echo`, 'x'.repeat(1_000_000), { Origin: 'https://shop.example' }),
      await post(`${web.url}/limited`, '{}'),
    ]) {
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('5');
      expect(response.headers.get('connection')).toBe('close');
      expect(await problem(response)).toMatchObject({
        code: 'unavailable',
        detail: 'The daemon is stopping.',
      });
    }
    expect(web.hits).toEqual([]);
    finish();
    const answer = await running;
    expect([answer.status, answer.headers.get('connection'), await answer.json()]).toEqual([
      200,
      'close',
      { done: true },
    ]);
    expect(await drained).toBe(true);
    await web.server.close();
    await expect(fetch(`${web.url}/`)).rejects.toThrow('fetch failed');
  });

  test('reads the body of a request before it refuses the request, because the connection closes with the answer', async () => {
    const { route, arrived, finish } = slow();
    const web = await serve({ routes: [route, echo] });
    const running = fetch(`${web.url}/slow`);
    await arrived;
    const drained = web.server.drain(20_000);
    let answer = '';
    const head =
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';
    const socket = connect(web.port, '127.0.0.1', () => socket.write(head));
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    // After several complete round trips, a refusal that was being sent would have arrived.
    for (let i = 0; i < 3; i++) expect((await fetch(`${web.url}/`)).status).toBe(503);
    expect(answer).toBe('');
    socket.write('{}');
    await closed;
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    finish();
    await running;
    expect(await drained).toBe(true);
  });

  test('reports that a request was not answered within the grace period, and aborts it when it closes', async () => {
    const { route, arrived } = slow();
    const web = await serve({ routes: [route] });
    const running = fetch(`${web.url}/slow`).catch(() => 'cut');
    await arrived;
    expect(await web.server.drain(20)).toBe(false);
    await web.server.close();
    expect(await running).toBe('cut');
  });

  test('ends streams at once, so that their readers reconnect to another daemon and are not refused', async () => {
    const route: Route = {
      method: 'GET',
      path: '/stream',
      handle: () => ({
        async body(out) {
          out.write('piece');
          await new Promise((resolve) => out.signal.addEventListener('abort', resolve));
        },
      }),
    };
    const web = await serve({ routes: [route] });
    const response = await fetch(`${web.url}/stream`);
    expect(await web.server.drain(20_000)).toBe(true);
    expect(await response.text()).toBe('piece');
    await expect(fetch(`${web.url}/stream`, { headers: { Accept: 'text/event-stream' } })).rejects.toThrow(
      'fetch failed',
    );
    expect((await fetch(`${web.url}/stream`)).status).toBe(503);
    await web.server.close();
  });

  test('ends at once if no request runs, even with idle connections', async () => {
    const web = await serve();
    await (await fetch(`${web.url}/`)).arrayBuffer();
    expect(await web.server.drain(20_000)).toBe(true);
    await web.server.close();
  });
});

test('a server reports a port that is in use with the error of the system', async () => {
  const web = await serve();
  const other = await serve();
  await other.server.close();
  await expect(other.server.listen({ host: '127.0.0.1', port: web.port })).rejects.toThrow('EADDRINUSE');
});
