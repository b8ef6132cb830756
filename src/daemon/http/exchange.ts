import type { ServerResponse } from 'node:http';
import Koa from 'koa';
import type { ReceivedRequest } from './received-request.ts';
import type { Found, MountedRoute } from './routes.ts';

/**
 * The parts of Node's own `http` that are used. An `import` of `http` reads each of its exports, which loads all of
 * `fetch` and `WebSocket` (about 30 ms of each start), even if neither is ever used.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');

/**
 * The data about a request that the middleware adds to Koa's context. Each comment names the middleware that sets the
 * field.
 */
export interface Exchange {
  /** request-id */
  request_id: string;
  /** request-id; address of the client, by TRUST_PROXY */
  address: string;
  /** request-id; the request target up to the query, as it was sent. Koa's own getter can throw. */
  path: string;
  /** request-id; the headers of the response. */
  head: ResponseHead;
  /** problems; the code of the problem that was answered, absent if there was none */
  problem?: string;
  /** find-route */
  found: Found;
  /** receive */
  route: MountedRoute;
  /** receive; with an empty body if the body is refused */
  request: ReceivedRequest;
  /** receive; why the body is refused, null if it is accepted */
  bodyProblem: unknown;
}

export type Context = Koa.ParameterizedContext<Exchange>;
export type Middleware = Koa.Middleware<Exchange>;

/** The status in logs and metrics if a connection closed before there was an answer. Proxies log the same status. */
const NOT_ANSWERED = 499;

/**
 * An application whose middleware ends every response itself. Koa would do so afterwards, and listens to each response
 * and its connection until then, which needs 2 KB for as long as a stream is open.
 */
export class App extends Koa<Exchange> {
  constructor() {
    super();
    // A version of Koa that does not call `handleRequest` leaves the responses alone as well.
    this.context.respond = false;
  }

  /** Called by the function that `callback` returns. */
  async handleRequest(ctx: Context, answer: (ctx: Context) => Promise<void>): Promise<void> {
    ctx.res.statusCode = NOT_ANSWERED;
    try {
      await answer(ctx);
    } catch (error) {
      ctx.onerror(error as Error);
    }
  }
}

type HeaderValue = string | readonly string[];

/**
 * The headers of a response, collected and then written together with its status and body. If each were set on Node's
 * response, they would cost several times as much.
 */
export class ResponseHead {
  readonly #res: ServerResponse;
  /** Names and values in turns. Null if the headers were handed over. */
  #fields: HeaderValue[] | null = [];

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Sets a header, or replaces it. */
  set(name: string, value: HeaderValue): void {
    if (this.#fields === null) {
      this.#res.setHeader(name, value);
      return;
    }
    const index = findName(this.#fields, name);
    if (index === -1) this.#fields.push(name, value);
    else this.#fields.splice(index, 2, name, value);
  }

  setAll(headers: Readonly<Record<string, HeaderValue>>): void {
    for (const name in headers) this.set(name, headers[name] as HeaderValue);
  }

  /** Sends the whole response. */
  send(status: number, body: string | Buffer): void {
    this.set('Content-Length', String(Buffer.byteLength(body)));
    this.begin(status);
    this.#res.end(body);
  }

  /** Completes the head, which is sent with the first data. Afterwards, the headers need memory only as text. */
  begin(status: number): void {
    this.#res.writeHead(status, (this.#fields ?? []) as string[]);
    this.#fields = [];
  }

  /** Sets the headers on Node's response, for code that does not send it as a whole. Further headers are set there, too. */
  handOver(): void {
    const fields = this.#fields ?? [];
    this.#fields = null;
    for (let at = 0; at < fields.length; at += 2)
      this.set(fields[at] as string, fields[at + 1] as HeaderValue);
  }
}

function findName(fields: readonly HeaderValue[], name: string): number {
  for (let at = 0; at < fields.length; at += 2) {
    const known = fields[at] as string;
    if (known.length === name.length && known.toLowerCase() === name.toLowerCase()) return at;
  }
  return -1;
}

/** Sends a response as a whole. If its client has gone, only the log has its status. */
export function send(ctx: Context, status: number, body: string | Buffer): void {
  if (ctx.writable) ctx.state.head.send(status, body);
  else ctx.res.statusCode = status;
}
