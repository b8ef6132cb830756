import type { ChannelResponse } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import { type Context, type Middleware, validateHeaderName, validateHeaderValue } from './exchange.ts';
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
export function respond(ctx: Context, response: ChannelResponse, { stopping, log }: StreamParts): void {
  const { status = 200, headers = {}, body } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new RangeError(`a route answered status ${status}`);
  checkHeaders(headers);
  const [type, payload] = toPayload(body);
  ctx.status = status;
  if (type !== null) ctx.res.setHeader('Content-Type', type);
  setHeaders(ctx, headers);
  if (typeof payload === 'function') begin(ctx, payload, stopping, log);
  else if (payload !== null) ctx.body = payload;
  else endWithoutBody(ctx);
}

type RouteHeaders = NonNullable<ChannelResponse['headers']>;

/** Sets the headers of a route. If one of them cannot be sent, throws before any header is set. */
function setHeaders(ctx: Context, headers: RouteHeaders): void {
  checkHeaders(headers);
  for (const [name, value] of Object.entries(headers)) setHeader(ctx, name, value);
}

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
  if (name.toLowerCase() === 'vary') ctx.vary(own);
  else ctx.res.setHeader(name, own);
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
function begin(ctx: Context, write: Writer, stopping: AbortSignal, log: Log): void {
  if (ctx.method === 'HEAD') {
    ctx.res.flushHeaders();
    endWithoutBody(ctx);
    return;
  }
  ctx.respond = false;
  const { res, state } = ctx;
  // The daemon may stop before the stream ends. A proxy must not send another request on this connection then.
  if (ctx.req.headers['x-forwarded-for'] !== undefined) res.setHeader('Connection', 'close');
  stream(res, write, stopping, (error) => logFailure(error, state, res, log));
}

/** Ends the response with an empty body. Koa would send the name of the status. */
function endWithoutBody(ctx: Context): void {
  ctx.respond = false;
  ctx.res.end();
}

/** Sets the headers that a route adds to every answer, including refusals by the middleware below. */
export function routeHeaders(): Middleware {
  return (ctx, next) => {
    const { route, request } = ctx.state;
    try {
      if (route.headers) setHeaders(ctx, route.headers(request));
    } catch (error) {
      // The handler fails with the same error, which then becomes the response.
      if (!(error instanceof AgentdError)) throw error;
    }
    return next();
  };
}
