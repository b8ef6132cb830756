import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionLost, findEventStream, StreamClient } from '../../../../src/cli/chat/stream-client.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';

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
  const server = createServer(answer);
  servers.push(server);
  return new URL(`http://127.0.0.1:${await listenOnFreePort(server)}/`);
}

const clientOf = (base: URL, token: string | null = null) =>
  new StreamClient(base, PATHS, { user_id: 'ada', token });

async function all<T>(items: AsyncIterable<T> | null): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items ?? []) found.push(item);
  return found;
}

describe('the client of event streams', () => {
  it('sends user, session, token and key to a path below its address', async () => {
    const asked: { request: IncomingMessage; body: unknown }[] = [];
    const base = await serve(async (request, response) => {
      asked.push({ request, body: JSON.parse(await text(request)) });
      response.setHeader('Content-Type', 'application/json').end('{"stream_id":"s"}');
    });
    const client = clientOf(new URL('chat/?x=1', base), TOKEN);
    expect(await client.start({ ...outgoing, session_id: 't' }, never)).toBe('s');
    expect(asked[0]?.body).toEqual({ user_id: 'ada', message: 'Hi', session_id: 't', jwt_token: TOKEN });
    expect(asked[0]?.request).toMatchObject({ url: '/chat/talk', method: 'POST' });
    expect(asked[0]?.request.headers).toMatchObject({ 'idempotency-key': 'k' });
  });

  it('does not follow a redirect, so that the token is not sent elsewhere', async () => {
    let reached = 0;
    const elsewhere = await serve((_request, response) => {
      reached++;
      response.end();
    });
    for (const status of [301, 302, 307, 308]) {
      const base = await serve((_request, response) =>
        response.writeHead(status, { Location: `${elsewhere.href}talk` }).end(),
      );
      const refused = clientOf(base, TOKEN).start(outgoing, never);
      await expect(refused).rejects.toMatchObject({
        exitCode: 69,
        message: expect.stringContaining(
          `redirects the message to ${elsewhere.origin}; redirects are not followed`,
        ),
      });
      await expect(refused).rejects.not.toThrow(TOKEN);
    }
    expect(reached).toBe(0);
  });

  it('sends the token only with a message, and not when it opens or stops a stream', async () => {
    const asked: string[] = [];
    const base = await serve(async (request, response) => {
      asked.push(JSON.stringify([request.url, request.rawHeaders]), await text(request));
      response
        .writeHead(request.method === 'DELETE' ? 204 : 200, { 'Content-Type': 'text/event-stream' })
        .end();
    });
    const client = clientOf(base, TOKEN);
    await client.open('s', 3, never);
    await client.stop('s', never);
    expect(asked.join()).toContain('"Last-Event-ID","3"');
    // Otherwise, the daemon sends no titles of tools.
    expect(asked.join()).toContain('/talk/s/events?details=tools');
    expect(asked.join()).not.toContain(TOKEN);
  });

  it.each([
    ['a page', 200, 'text/html', '<p>Welcome</p>'],
    ['no such path', 404, 'application/problem+json', '{"code":"not_found"}'],
    ['a missing page', 404, 'text/html', '<p>Not found</p>'],
    ['another service', 401, 'application/json', '{"error":"unauthorized"}'],
    ['a page that is too long', 403, 'text/html', 'x'.repeat(2_000_000)],
  ])('does not accept %s as the answer of a daemon', async (_what, status, type, body) => {
    const base = await serve((_request, response) =>
      response.writeHead(status, { 'Content-Type': type }).end(body),
    );
    const message = expect.stringContaining(`is not an agentd daemon with event streams (status ${status})`);
    await expect(clientOf(base).start(outgoing, never)).rejects.toMatchObject({ exitCode: 69, message });
    await expect(clientOf(base).open('s', 0, never)).rejects.toMatchObject({ exitCode: 69, message });
  });

  it('reports a lost connection, which allows another attempt, if a proxy says that the daemon is down', async () => {
    const base = await serve((_request, response) =>
      response.writeHead(502, { 'Retry-After': '7' }).end('<h1>Bad Gateway</h1>'),
    );
    const lost = clientOf(base).start(outgoing, never);
    await expect(lost).rejects.toBeInstanceOf(ConnectionLost);
    await expect(lost).rejects.toMatchObject({ message: 'it answered 502', wait_ms: 7000 });
  });

  it('reports a lost connection if the connection breaks before the response or within a stream', async () => {
    const base = await serve((request, response) => {
      if (request.method === 'POST') request.socket.destroy();
      else {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('id: 1\n', () => request.socket.destroy());
      }
    });
    await expect(clientOf(base).start(outgoing, never)).rejects.toBeInstanceOf(ConnectionLost);
    const pieces = await clientOf(base).open('s', 0, never);
    await expect(all(pieces)).rejects.toBeInstanceOf(ConnectionLost);
  });

  it('ends at once if the person leaves, before or during an answer', async () => {
    const leave = new AbortController();
    const base = await serve((request, response) => {
      if (request.method === 'POST') leave.abort(new Error('left'));
      else response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    });
    await expect(clientOf(base).start(outgoing, leave.signal)).rejects.toThrow('left');
    const again = new AbortController();
    const pieces = await clientOf(base).open('s', 0, again.signal);
    again.abort(new Error('left again'));
    await expect(all(pieces)).rejects.toThrow('left again');
  });
});

describe('the event streams of a daemon', () => {
  it('are found at the paths of its active channel', async () => {
    expect(await findEventStream({ platforms: ['webchat', 'sse'] })).toEqual({
      start: '/sse/chat',
      stream: '/sse/stream/:stream_id',
    });
  });

  it('are missing if no active channel has them, and the error names the settings to change', async () => {
    await expect(findEventStream({ platforms: ['webchat', 'telex'] })).rejects.toMatchObject({
      exitCode: 1,
      message: 'the daemon has no channel with event streams (active: webchat, telex)',
      advice:
        'In the settings of the daemon, set SSE_ENABLED=true, or add sse to MESSAGING_PLATFORMS. Then restart it.',
    });
  });
});
