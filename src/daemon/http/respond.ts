import type { ChannelResponse } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import { type Context, type Middleware, send, validateHeaderName, validateHeaderValue } from './exchange.ts';
import { logFailure } from './problem.ts';
import { stream } from './response-stream.ts';

/** The last middleware: calls the route's handler and sends its response. */
export function answer(parts: StreamParts): Middleware {
  return async (ctx) => {
    const { route, request, bodyProblem } = ctx.state;
    if (bodyProblem !== null) throw bodyProblem;
    respond(ctx, await route.handle(request), parts);
  };
}

/** Only the daemon sets the headers for framing and for the request id. */
const DAEMONS_OWN: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'transfer-encoding',
  'x-request-id',
]);

interface StreamParts {
  /** Aborts when open streams must end. */
  stopping: AbortSignal;
  log: Log;
}

/** Sends the answer of a route. If the answer cannot be sent as it is, throws before anything is sent. */
export function respond(ctx: Context, response: ChannelResponse, parts: StreamParts): void {
  const { status = 200, headers = {}, body } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new RangeError(`a route answered status ${status}`);
  checkHeaders(headers);
  const [type, payload] = toPayload(body);
  if (type !== null) ctx.state.head.set('Content-Type', type);
  setHeaders(ctx, headers);
  if (payload !== null && typeof payload !== 'function' && !WITHOUT_BODY.has(status)) {
    send(ctx, status, payload);
    return;
  }
  if (typeof payload === 'function') {
    begin(ctx, status, payload, parts);
    return;
  }
  ctx.state.head.handOver();
  ctx.status = status;
  // Also removes the headers of a body that this status does not have.
  if (payload !== null) ctx.body = null;
  ctx.res.end();
}

/** The statuses whose responses have no body, whatever the route gives (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

type RouteHeaders = NonNullable<ChannelResponse['headers']>;

/** Sets the headers of a route, which were checked. */
function setHeaders(ctx: Context, headers: RouteHeaders): void {
  for (const [name, value] of Object.entries(headers)) setHeader(ctx, name, value);
}

/** Throws if one of the headers of a route cannot be sent. */
function checkHeaders(headers: RouteHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    for (const one of [value].flat()) validateHeaderValue(name, one);
    if (DAEMONS_OWN.has(name.toLowerCase())) throw new TypeError(`a route may not set the header ${name}`);
  }
}

/** Sets a header, and replaces the value that the daemon has set. `Vary` is extended instead. */
function setHeader(ctx: Context, name: string, value: string | readonly string[]): void {
  const own = typeof value === 'string' ? value : [...value];
  if (name.toLowerCase() === 'vary') {
    ctx.state.head.handOver();
    ctx.vary(own);
  } else ctx.state.head.set(name, own);
}

type Writer = Extract<ChannelResponse['body'], (...args: never[]) => unknown>;

/** The default content type, and the data to send. */
function toPayload(
  body: ChannelResponse['body'],
): [type: string | null, payload: string | Buffer | Writer | null] {
  if (body === undefined) return [null, null];
  if (typeof body === 'function') return [null, body as Writer];
  if (typeof body === 'string') return ['text/plain; charset=utf-8', body];
  if (body instanceof Uint8Array) {
    return ['application/octet-stream', Buffer.from(body.buffer, body.byteOffset, body.byteLength)];
  }
  return ['application/json; charset=utf-8', JSON.stringify(body)];
}

/** Begins an answer that the writer continues. A HEAD request gets only the head. */
function begin(ctx: Context, status: number, write: Writer, { stopping, log }: StreamParts): void {
  const { res, state } = ctx;
  // The daemon may stop before the stream ends. A proxy must not send another request on this connection then.
  if (ctx.req.headers['x-forwarded-for'] !== undefined) state.head.set('Connection', 'close');
  state.head.begin(status);
  if (ctx.method === 'HEAD') {
    res.end();
    return;
  }
  stream(res, write, stopping, (error) => logFailure(error, state, res, log));
}

/** Sets the headers that a route adds to every answer, including refusals by the middleware below. */
export function routeHeaders(): Middleware {
  return (ctx, next) => {
    const { route, request } = ctx.state;
    try {
      if (route.headers) {
        const headers = route.headers(request);
        checkHeaders(headers);
        setHeaders(ctx, headers);
      }
    } catch (error) {
      // The handler fails with the same error, which then becomes the response.
      if (!(error instanceof AgentdError)) throw error;
    }
    return next();
  };
}
