import { once } from 'node:events';
import type { Server as HttpServer, RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type Koa from 'koa';
import { AgentdError, daemonStopping } from '../errors.ts';
import type { Log } from '../process/log.ts';
import { ConfigurationError } from '../settings/problem.ts';
import { LiveSet } from '../time/live-map.ts';
import { discard } from './body.ts';
import {
  type Context,
  createServer as createHttpServer,
  type Exchange,
  type Middleware,
  STATUS_CODES,
} from './exchange.ts';
import { SECURITY_HEADERS, toProblem } from './problem.ts';
import { chooseRequestId } from './request-id.ts';

/** A request must have arrived completely within this time, ms. */
const REQUEST_TIMEOUT = 30_000;
/** How often connections are checked for requests that exceed REQUEST_TIMEOUT, ms. */
const CHECKING_INTERVAL = 5000;
/** Maximum size of the headers, bytes. A header and a cookie may each contain a token of 8,192 characters. */
const MAX_HEADER_SIZE = 32_768;
/** Maximum number of connections. There is room for 10,000 open streams. Further connections are dropped. */
const MAX_CONNECTIONS = 16_384;
/**
 * Maximum number of requests that wait for their answers on one connection. Browsers and proxies wait for each answer
 * before they send the next request.
 */
const MAX_WAITING = 100;

interface ListenerOptions {
  /** KEEP_ALIVE_SECONDS */
  keepAliveSeconds: number;
  /** Maximum time for a request to arrive, ms; for tests. */
  requestTimeout?: number | undefined;
}

export interface ListeningAddress {
  address: string;
  port: number;
  /** `http://127.0.0.1:8080` */
  url: string;
}

/** A file descriptor of a socket that another process has made, and listens on, too. */
export interface InheritedSocket {
  fd: number;
}

/** Where a server listens, and the setting that determines it. */
interface ListenTarget {
  /** Undefined means every address of the machine. */
  host: string | undefined;
  /** 0 means any free port. */
  port: number;
  setting: 'HOST' | 'ADMIN_LISTEN';
}

/**
 * A Node server for an application, with limits on how much and how slowly a client may send. It answers what cannot be
 * parsed as a request itself.
 */
export function createListener(
  app: Koa<Exchange>,
  inFlight: InFlight,
  log: Log,
  { keepAliveSeconds, requestTimeout = REQUEST_TIMEOUT }: ListenerOptions,
): HttpServer {
  // Only the error of a broken connection gets past `problems`.
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection error'));
  const handle = closeFloods(app.callback(), log);
  const server = createHttpServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: Math.min(requestTimeout, CHECKING_INTERVAL),
      keepAliveTimeout: keepAliveSeconds * 1000,
      maxHeaderSize: MAX_HEADER_SIZE,
      joinDuplicateHeaders: true,
      requireHostHeader: false,
    },
    handle,
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.once('drop', () =>
    log.warn({ connections: MAX_CONNECTIONS }, 'too many connections; some are dropped'),
  );
  // An unknown expectation may be ignored (RFC 9110 §10.1.1); by default, Node would refuse the request.
  server.on('checkExpectation', handle);
  answerConnect(server);
  answerBrokenRequests(server, inFlight, log);
  return server;
}

/**
 * Closes a connection with more than `MAX_WAITING` requests, of which a client may repeat those that were not answered
 * (RFC 9112 §9.3.2). Answers wait in memory for the answers before them, and for the client to read. Node stops reading
 * only when many of them wait.
 */
function closeFloods(handle: RequestListener, log: Log): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // Requests that arrived together with the last one are still parsed.
    if (socket.destroyed) return;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_WAITING) {
      log.debug({ address: socket.remoteAddress }, 'a connection with too many waiting requests was closed');
      socket.destroy();
      return;
    }
    waiting.set(socket, count);
    response.once('close', () => waiting.set(socket, (waiting.get(socket) as number) - 1));
    handle(request, response);
  };
}

/**
 * Rejects with the system's error, to which the setting is added, if the server cannot listen there, or with a
 * ConfigurationError if the setting or the inherited socket must change.
 */
export function listen(
  server: HttpServer,
  target: ListenTarget | InheritedSocket,
  log: Log,
): Promise<ListeningAddress> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      reject(
        'fd' in target
          ? unusable(error)
          : (unknownHost(error, target) ?? Object.assign(error, { setting: target.setting })),
      );
    server.once('error', refuse);
    server.listen('fd' in target ? target : toListenOptions(target), () => {
      server.off('error', refuse);
      const address = server.address();
      if (address === null || typeof address === 'string') {
        server.close();
        reject(unusable());
        return;
      }
      server.on('error', (error) => log.error({ err: error }, 'a connection could not be accepted'));
      resolve(toAddress(address));
    });
  });
}

function toListenOptions({ host, port }: ListenTarget): { host?: string; port: number } {
  return { port, ...(host === undefined ? {} : { host }) };
}

/** The daemon needs the addresses of its clients, which only TCP has. */
function unusable(cause?: Error): ConfigurationError {
  const problem = `names a file descriptor that is no TCP socket${cause === undefined ? '' : `: ${cause.message}`}`;
  const right = 'a socket unit whose ListenStream= is an address with a port, as in config/agentd.socket';
  return new ConfigurationError([
    { setting: 'LISTEN_FDS', value: '1', source: 'environment', problem, right },
  ]);
}

/** Accepts no more connections; open connections stay open. Resolves when the last connection has closed. */
export function stopAccepting(server: HttpServer): Promise<void> {
  // The `close` of the HTTP server would also close idle connections, on which a proxy may be sending a request right
  // now.
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));
}

/**
 * Stops listening and closes idle connections. Resolves when the last connection has closed, or at once for a server
 * that does not listen.
 */
export function stopListening(server: HttpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/**
 * A name that does not resolve is a wrong setting here. For a client, the same error code means that the daemon is
 * unreachable.
 */
function unknownHost(
  { code }: NodeJS.ErrnoException,
  { host = '', setting }: ListenTarget,
): ConfigurationError | null {
  if (code !== 'ENOTFOUND' && code !== 'EAI_AGAIN') return null;
  const problem = 'is neither an address of this machine nor a name that resolves to one';
  const right = '127.0.0.1, 0.0.0.0, or another address of this machine';
  return new ConfigurationError([{ setting, value: host, source: null, problem, right }]);
}

function toAddress({ address, port, family }: AddressInfo): ListeningAddress {
  return { address, port, url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
}

/**
 * Answers to data that cannot be parsed as a request, by the code of Node's error. This data never reaches the
 * middleware.
 */
const REFUSALS: Readonly<Record<string, { status: number; detail: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'The header section is too large.' },
};
const MALFORMED = { status: 400, detail: 'This is not an HTTP request.' };

/** The first line of a request, whatever its method. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/1\.[01]\r?\n/;

/** Answers broken and slow requests with a problem document, and closes their connection. */
function answerBrokenRequests(server: Server, inFlight: InFlight, log: Log): void {
  server.on('clientError', (error: ParseError, socket: Socket) => {
    const code = error.code ?? '';
    if (code === 'ECONNRESET' || !socket.writable || inFlight.isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { status, detail } = REFUSALS[code] ?? MALFORMED;
    const [refusal, as] = namesUnknownMethod(error)
      ? [methodNotAllowed('There is no such method.')]
      : [new AgentdError('invalid_request', detail), status];
    const request_id = chooseRequestId({});
    log.debug({ request_id, status: as ?? refusal.status, code }, 'broken request');
    socket.end(render(refusal, request_id, as), () => socket.destroy());
  });
}

/** An error of Node's parser, and the data that it could not parse. */
type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer };

/** Whether the data is a request with a method that Node does not know. It does not know them in lower case either. */
function namesUnknownMethod({ code, rawPacket }: ParseError): boolean {
  return code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(rawPacket?.toString('latin1') ?? '');
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
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/** Answers CONNECT requests. Without this answer, Node would just close the connection. */
function answerConnect(server: Server): void {
  server.on('connect', (request, socket) => {
    const refusal = methodNotAllowed('This is not a proxy.');
    socket.on('error', () => socket.destroy());
    socket.end(render(refusal, chooseRequestId(request.headers)), () => socket.destroy());
  });
}

/** The path is not known here, so it allows what any path may allow. */
function methodNotAllowed(detail: string): AgentdError {
  return new AgentdError('method_not_allowed', detail, {
    headers: { Allow: 'GET, HEAD, POST, DELETE, OPTIONS' },
  });
}

function render(error: AgentdError, request_id: string, as?: number): string {
  const { status, headers, body } = toProblem(error, request_id, as);
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

/** The requests that are being answered. A stopping daemon waits for them and accepts no more. */
export class InFlight {
  readonly #responses = new LiveSet<ServerResponse>();
  #retiring = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  /** Counts a request until it is answered or its client has disconnected. */
  add(response: ServerResponse): void {
    this.#responses.add(response);
    if (this.#retiring) response.setHeader('Connection', 'close');
    response.on('close', () => {
      this.#responses.delete(response);
      if (this.#responses.size === 0) this.#onEmpty?.();
    });
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on each response ends its connection, so that a proxy keeps no connection for further requests. */
  retire(): void {
    if (this.#retiring) return;
    this.#retiring = true;
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      // The headers did not say that the connection ends, so the client may send another request on it.
      else response.once('finish', () => response.req.socket.destroySoon());
    }
  }

  /** From now on new requests are refused. */
  drain(): void {
    this.#draining = true;
    this.retire();
  }

  /** Resolves to true when all requests have ended, or to false after `ms`. */
  ended(ms: number): Promise<boolean> {
    if (this.#responses.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms, false);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Whether a response on this connection has begun to be sent. */
  isAnswering(socket: Socket): boolean {
    return [...this.#responses].some((response) => response.socket === socket && response.headersSent);
  }
}

/**
 * Lets requests through until the daemon stops. Then they get 503, even on new connections, and readers of streams lose
 * their connection.
 */
export function admit(inFlight: InFlight): Middleware {
  return (ctx, next) => {
    if (inFlight.draining) return refuse(ctx);
    inFlight.add(ctx.res);
    return next();
  };
}

async function refuse(ctx: Context): Promise<void> {
  // After a refusal, the reader of a stream (EventSource) would not reconnect; after a lost connection it does.
  if (ctx.req.headers.accept?.includes('text/event-stream')) {
    ctx.res.destroy();
    return;
  }
  // The connection is closed after the answer. The rest of the request is read first, so that the answer is not lost.
  discard(ctx.req);
  if (!ctx.req.closed) await once(ctx.req, 'close');
  ctx.state.head.set('Connection', 'close');
  throw daemonStopping();
}
