import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { Middleware } from './exchange.ts';
import type { InFlight } from './in-flight.ts';
import { STATUS_CODES } from './node-http.ts';
import { problemOf } from './problem.ts';
import { requestIdOf } from './request-id.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/**
 * Answers to data that cannot be parsed as a request, by the code of Node's error. This data never reaches the
 * middleware.
 */
const REFUSALS: Readonly<Record<string, { status: number; detail: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'The header section is too large.' },
};
const MALFORMED = { status: 400, detail: 'This is not an HTTP request.' };

/** Answers broken and slow requests with a problem document, and closes their connection. */
export function answerBrokenRequests(server: Server, inFlight: InFlight, log: Log): void {
  answerConnect(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const code = error.code ?? '';
    if (code === 'ECONNRESET' || !socket.writable || inFlight.isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { status, detail } = REFUSALS[code] ?? MALFORMED;
    const request_id = requestIdOf({});
    log.debug({ request_id, status, code }, 'broken request');
    socket.end(render(new AgentdError('invalid_request', detail), request_id, status), () =>
      socket.destroy(),
    );
  });
}

/**
 * Requires exactly one header `Host` (RFC 9112 §3.2). Node's own check is switched off, because its answer to a missing
 * header would have no request id. If there are several, Node uses the first, but a proxy in front may use the last.
 */
export function requireHost(): Middleware {
  return (ctx, next) => {
    const hosts = countHosts(ctx.req.rawHeaders);
    if (hosts === 0 && ctx.req.httpVersion === '1.1') {
      throw new AgentdError('invalid_request', 'The header Host is missing.');
    }
    if (hosts > 1) throw new AgentdError('invalid_request', 'There is more than one header Host.');
    return next();
  };
}

/**
 * Counts the header in the raw list. The list that Node makes by name (`headersDistinct`) would stay in memory as long
 * as the request: for hours if the request opened a stream.
 */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const name = rawHeaders[place] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/** Answers CONNECT requests. Without this answer, Node would just close the connection. */
function answerConnect(server: Server): void {
  server.on('connect', (request, socket) => {
    const refusal = new AgentdError('method_not_allowed', 'This is not a proxy.', {
      headers: { Allow: 'GET, HEAD, POST, DELETE, OPTIONS' },
    });
    socket.on('error', () => socket.destroy());
    socket.end(render(refusal, requestIdOf(request.headers)), () => socket.destroy());
  });
}

function render(error: AgentdError, request_id: string, as?: number): string {
  const { status, headers, body } = problemOf(error, request_id, as);
  const head = {
    'X-Request-Id': request_id,
    ...SECURITY_HEADERS,
    ...headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
