import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ReceivedRequest } from './received-request.ts';
import type { Found, MountedRoute } from './routes.ts';

/**
 * The parts of Node's own `http` that are used. An `import` of `http` reads each of its exports, which loads all of
 * `fetch` and `WebSocket` (about 30 ms of each start), even if neither is ever used.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');

/** The data about a request that the middleware adds. Each comment names the middleware that sets the field. */
export interface Exchange {
  /** request-id */
  request_id: string;
  /** request-id; address of the client, by TRUST_PROXY */
  address: string;
  /** request-id; the request target up to the query, as it was sent. */
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

/** A request, and its answer as far as it was made. */
export interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  /** The request target, as it was sent. */
  readonly url: string;
  readonly state: Exchange;
}

/** A step of the answer to a request: it answers, throws, or calls the next one. */
export type Middleware = (ctx: Context, next: () => Promise<void> | void) => Promise<void> | void;

/** The status in logs and metrics if a connection closed before there was an answer. Proxies log the same status. */
const NOT_ANSWERED = 499;

/**
 * Passes each request through the middleware, in order.
 * @param failed called with an error that the middleware throws
 */
export function passThrough(
  middleware: readonly Middleware[],
  failed: (error: unknown) => void,
): RequestListener {
  return (req, res) => {
    res.statusCode = NOT_ANSWERED;
    const { method = '', url = '' } = req;
    const ctx: Context = { req, res, method, url, state: {} as Exchange };
    const pass = (place: number): Promise<void> | void => middleware[place]?.(ctx, () => pass(place + 1));
    (async () => pass(0))().catch((error: unknown) => {
      failed(error);
      res.destroy();
    });
  };
}

type HeaderValue = string | readonly string[];

/**
 * The headers of a response, collected and then written together with its status and body. If each were set on Node's
 * response, they would cost several times as much.
 */
export class ResponseHead {
  readonly #res: ServerResponse;
  /** Names and values in turns. */
  #fields: HeaderValue[] = [];

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Sets a header, or replaces it. */
  set(name: string, value: HeaderValue): void {
    const index = findName(this.#fields, name);
    if (index === -1) this.#fields.push(name, value);
    else this.#fields.splice(index, 2, name, value);
  }

  setAll(headers: Readonly<Record<string, HeaderValue>>): void {
    for (const name in headers) this.set(name, headers[name] as HeaderValue);
  }

  /** Adds names of headers to the header `Vary`. */
  vary(names: HeaderValue): void {
    const index = findName(this.#fields, 'Vary');
    const before = index === -1 ? [] : [this.#fields[index + 1] as HeaderValue];
    const all = [before, names].flat(2).flatMap((list) => list.split(/\s*,\s*/));
    this.set('Vary', [...new Set(all)].join(', '));
  }

  /** Sends the whole response. */
  send(status: number, body: string | Buffer): void {
    this.set('Content-Length', String(Buffer.byteLength(body)));
    this.begin(status);
    this.#res.end(body);
  }

  /** Completes the head, which is sent with the first data. Afterwards, the headers need memory only as text. */
  begin(status: number): void {
    this.#res.writeHead(status, this.#fields as string[]);
    this.#fields = [];
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
export function send({ res, state }: Context, status: number, body: string | Buffer): void {
  if (!res.writableEnded && res.socket?.writable !== false) state.head.send(status, body);
  else res.statusCode = status;
}

/** Sends a response without a body. */
export function sendHead({ res, state }: Context, status: number): void {
  if (status === 205) state.head.set('Content-Length', '0');
  state.head.begin(status);
  res.end();
}
