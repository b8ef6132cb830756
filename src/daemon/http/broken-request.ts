import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AgentdError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Middleware } from './exchange.ts';
import type { InFlight } from './in-flight.ts';
import { problemOf } from './problem.ts';
import { requestIdOf } from './request-id.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** What the parser could not make a request of never reaches the middleware; by the code of Node's error. */
const REFUSALS: Readonly<Record<string, { status: number; detail: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'The header section is too large.' },
};
const MALFORMED = { status: 400, detail: 'This is not an HTTP request.' };

/** Answers broken and slow requests with a problem document, and closes their connection. */
export function answerBrokenRequests(server: Server, inFlight: InFlight, log: Log): void {
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

/** RFC 9112 §3.2. Node would answer it by itself, without a request id. */
export function requireHost(): Middleware {
  return (ctx, next) => {
    if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1') {
      throw new AgentdError('invalid_request', 'The header Host is missing.');
    }
    return next();
  };
}

function render(error: AgentdError, request_id: string, as: number): string {
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
