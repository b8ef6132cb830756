import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ChannelRequest, Route } from '../../channel/index.ts';
import { PARTS_MAX, readMultipart } from '../../channel/payload.ts';
import { PromiseReturned } from '../../channel/plain-value.ts';
import { AgentdError } from '../errors.ts';
import type { TokenValidator, ValidatedToken } from '../identity/identity.ts';
import type { Ticket, Tickets } from '../time/tickets.ts';
import { type BodyRoom, discard, type LargeBodies, parseJson, readBody } from './body.ts';
import type { Context, Middleware } from './exchange.ts';
import { type MountedRoute, resolveRoute } from './routes.ts';

const NO_BODY: Uint8Array = new Uint8Array();

interface ReceiveParts {
  largeBodies: LargeBodies;
  sequencer: Tickets;
}

/**
 * Reads the body and gives the request its place in the order of arrival. If the body is refused, the request continues
 * without it, because it must first be counted for the rate limit.
 */
export function receive({ largeBodies, sequencer }: ReceiveParts): Middleware {
  return async (ctx, next) => {
    const { route, room } = routeAndRoom(ctx, largeBodies);
    try {
      let bodyProblem: unknown = null;
      let body = NO_BODY;
      try {
        body = await readBody(ctx.req, route, room);
      } catch (error) {
        bodyProblem = error;
      }
      const request = new ReceivedRequest(ctx, body);
      const thread = readThread(route, request);
      if (thread !== null) request.ticket = sequencer.take(thread);
      Object.assign(ctx.state, { route, request, bodyProblem });
      try {
        await next();
      } finally {
        request.ticket?.leave();
      }
    } finally {
      room.leave();
    }
  };
}

/**
 * The route, and how much of the request's body may be read.
 * @throws `not_found`, `method_not_allowed` or `unavailable`
 */
function routeAndRoom(ctx: Context, largeBodies: LargeBodies): { route: MountedRoute; room: BodyRoom } {
  try {
    const route = resolveRoute(ctx.state.found, ctx.method);
    return { route, room: largeBodies.enter(ctx.req, route) };
  } catch (error) {
    discard(ctx.req);
    throw error;
  }
}

/**
 * The thread that the request names; null if it names none, or if its body cannot be read. If the body cannot be read,
 * the handler gets the same error and reports it.
 */
function readThread(route: Route, request: ChannelRequest): string | null {
  try {
    return route.thread?.(request) ?? null;
  } catch (error) {
    if (error instanceof PromiseReturned) throw error;
    return null;
  }
}

/**
 * A request as a channel sees it, with two members for the daemon: its place in the order of arrival, and its token.
 * Expensive members are computed once, when they are first read.
 */
export class ReceivedRequest implements ChannelRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly address: string;
  /** Its place in the order of arrival; null if it names no thread. */
  ticket: Ticket | null = null;
  /** The validated user token of the request; null if the request has no token, or if its token was not validated. */
  validated: ValidatedToken | null = null;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #query: URLSearchParams | undefined;
  #json: Record<string, unknown> | undefined;
  #signal: AbortSignal | undefined;

  constructor(ctx: Context, body: Uint8Array) {
    this.id = ctx.state.request_id;
    this.method = ctx.method;
    this.path = ctx.state.path;
    this.params = ctx.state.found.params;
    this.headers = joinHeaders(ctx.req.headers);
    this.body = body;
    this.address = ctx.state.address;
    this.#req = ctx.req;
    this.#res = ctx.res;
  }

  /** The request that a channel passed back to the daemon; null for an object that the daemon did not make. */
  static of(request: ChannelRequest | undefined): ReceivedRequest | null {
    return request instanceof ReceivedRequest ? request : null;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#req.url?.slice(this.path.length));
    return this.#query;
  }

  json(): Record<string, unknown> {
    this.#json ??= parseJson(this.body);
    return this.#json;
  }

  form(): URLSearchParams {
    return new URLSearchParams(
      Buffer.from(this.body.buffer, this.body.byteOffset, this.body.byteLength).toString('utf8'),
    );
  }

  async multipart(): Promise<FormData> {
    const parts = await readMultipart(this.headers['content-type'], this.body);
    if (parts !== null) return parts;
    const detail = `The body is not valid multipart/form-data, or has more than ${PARTS_MAX} parts.`;
    throw new AgentdError('invalid_request', detail);
  }

  get signal(): AbortSignal {
    this.#signal ??= goneSignal(this.#res);
    return this.#signal;
  }
}

/** `Set-Cookie` is the only header that Node returns as a list; it has no meaning in a request. */
function joinHeaders(headers: IncomingMessage['headers']): Readonly<Record<string, string | undefined>> {
  const { 'set-cookie': cookies } = headers;
  const others = headers as Record<string, string | undefined>;
  return cookies === undefined ? others : { ...others, 'set-cookie': cookies.join(', ') };
}

/** Aborts when a response closes before it was sent completely: the client has gone. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = () => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) leave();
  else response.once('close', leave);
  return gone.signal;
}

/** Validates the user token of a request, once, for both the rate limit and the message. */
export function validateToken(services: { readonly tokens: TokenValidator }): Middleware {
  return async ({ state: { route, request } }, next) => {
    const token = readToken(route, request);
    if (token) request.validated = { token, verdict: await services.tokens.validate(token, request.id) };
    await next();
  };
}

/** A body that cannot be read has no token. The handler fails with the same error, and that becomes the response. */
function readToken(route: Route, request: ChannelRequest): string | null | undefined {
  try {
    return route.token?.(request);
  } catch (error) {
    if (error instanceof PromiseReturned) throw error;
    return null;
  }
}

/**
 * A validator for the tokens of one request. Even if several parts ask, it validates the request's token only once, so
 * that the log has only one line about the token, with the request id.
 * @param request if absent, each call validates the token again
 */
export function validateOnce(tokens: TokenValidator, request: ChannelRequest | undefined): TokenValidator {
  const received = ReceivedRequest.of(request);
  if (received === null) return tokens;
  return {
    async validate(token) {
      if (received.validated?.token === token) return received.validated.verdict;
      const verdict = await tokens.validate(token, received.id);
      received.validated ??= { token, verdict };
      return verdict;
    },
  };
}
