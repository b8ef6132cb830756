import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { eventStreamOf } from '../../../../src/cli/chat/endpoint.ts';
import { ConnectionLost, Service } from '../../../../src/cli/chat/service.ts';

const PATHS = { start: '/talk', stream: '/talk/:stream_id/events' };
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl';
const never = new AbortController().signal;
const outgoing = { key: 'k', message: 'Hi', session_id: null };

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

const serviceAt = (base: URL, token: string | null = null) =>
  new Service(base, PATHS, { user_id: 'ada', token });

async function all<T>(items: AsyncIterable<T> | null): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items ?? []) found.push(item);
  return found;
}

describe('the event-stream interface of a daemon', () => {
  it('is told user, session, token and key, below the path of its address', async () => {
    const asked: { request: IncomingMessage; body: unknown }[] = [];
    const base = await serve(async (request, response) => {
      asked.push({ request, body: JSON.parse(await text(request)) });
      response.setHeader('Content-Type', 'application/json').end('{"stream_id":"s"}');
    });
    const service = serviceAt(new URL('chat/?x=1', base), TOKEN);
    expect(await service.start({ ...outgoing, session_id: 't' }, never)).toBe('s');
    expect(asked[0]?.body).toEqual({ user_id: 'ada', message: 'Hi', session_id: 't', jwt_token: TOKEN });
    expect(asked[0]?.request).toMatchObject({ url: '/chat/talk', method: 'POST' });
    expect(asked[0]?.request.headers).toMatchObject({ 'idempotency-key': 'k' });
  });

  it('follows no redirect: the token goes nowhere else', async () => {
    let reached = 0;
    const elsewhere = await serve((_request, response) => {
      reached++;
      response.end();
    });
    for (const status of [301, 302, 307, 308]) {
      const base = await serve((_request, response) =>
        response.writeHead(status, { Location: `${elsewhere.href}talk` }).end(),
      );
      const refused = serviceAt(base, TOKEN).start(outgoing, never);
      await expect(refused).rejects.toMatchObject({
        exitCode: 69,
        message: expect.stringContaining(
          `sends the message on to ${elsewhere.origin}, which is not followed`,
        ),
      });
      await expect(refused).rejects.not.toThrow(TOKEN);
    }
    expect(reached).toBe(0);
  });

  it('sends the token with the message alone', async () => {
    const asked: string[] = [];
    const base = await serve(async (request, response) => {
      asked.push(JSON.stringify([request.url, request.rawHeaders]), await text(request));
      response
        .writeHead(request.method === 'DELETE' ? 204 : 200, { 'Content-Type': 'text/event-stream' })
        .end();
    });
    const service = serviceAt(base, TOKEN);
    await service.open('s', 3, never);
    await service.stop('s', never);
    expect(asked.join()).toContain('"Last-Event-ID","3"');
    expect(asked.join()).not.toContain(TOKEN);
  });

  it.each([
    ['a page', 200, 'text/html', '<p>Welcome</p>'],
    ['no path of that name', 404, 'application/problem+json', '{"code":"not_found"}'],
    ['a page that is not there', 404, 'text/html', '<p>Not found</p>'],
    ['another service', 401, 'application/json', '{"error":"unauthorized"}'],
    ['too long a page', 403, 'text/html', 'x'.repeat(2_000_000)],
  ])('is not taken for one that answers with %s', async (_what, status, type, body) => {
    const base = await serve((_request, response) =>
      response.writeHead(status, { 'Content-Type': type }).end(body),
    );
    const message = expect.stringContaining(`is no agentd with event streams (status ${status})`);
    await expect(serviceAt(base).start(outgoing, never)).rejects.toMatchObject({ exitCode: 69, message });
    await expect(serviceAt(base).open('s', 0, never)).rejects.toMatchObject({ exitCode: 69, message });
  });

  it('is behind a proxy that says it is away: to be asked again', async () => {
    const base = await serve((_request, response) =>
      response.writeHead(502, { 'Retry-After': '7' }).end('<h1>Bad Gateway</h1>'),
    );
    const lost = serviceAt(base).start(outgoing, never);
    await expect(lost).rejects.toBeInstanceOf(ConnectionLost);
    await expect(lost).rejects.toMatchObject({ message: 'it answered 502', wait_ms: 7000 });
  });

  it('is out of reach where a connection breaks before the head, or within a stream', async () => {
    const base = await serve((request, response) => {
      if (request.method === 'POST') request.socket.destroy();
      else {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('id: 1\n', () => request.socket.destroy());
      }
    });
    await expect(serviceAt(base).start(outgoing, never)).rejects.toBeInstanceOf(ConnectionLost);
    const pieces = await serviceAt(base).open('s', 0, never);
    await expect(all(pieces)).rejects.toBeInstanceOf(ConnectionLost);
  });

  it('is left at once, before an answer and within one', async () => {
    const leave = new AbortController();
    const base = await serve((request, response) => {
      if (request.method === 'POST') leave.abort(new Error('left'));
      else response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    });
    await expect(serviceAt(base).start(outgoing, leave.signal)).rejects.toThrow('left');
    const again = new AbortController();
    const pieces = await serviceAt(base).open('s', 0, again.signal);
    again.abort(new Error('left again'));
    await expect(all(pieces)).rejects.toThrow('left again');
  });
});

describe('the event streams of a daemon', () => {
  it('are where its channels have them', async () => {
    expect(await eventStreamOf({ platforms: ['webchat', 'sse'] })).toEqual({
      start: '/sse/chat',
      stream: '/sse/stream/:stream_id',
    });
  });

  it('are missed with what is to be set', async () => {
    await expect(eventStreamOf({ platforms: ['webchat', 'telex'] })).rejects.toMatchObject({
      exitCode: 1,
      message: 'the daemon has no channel that answers on event streams (active: webchat, telex)',
      advice: 'Set SSE_ENABLED=true, or put sse in MESSAGING_PLATFORMS, and start it again.',
    });
  });
});
