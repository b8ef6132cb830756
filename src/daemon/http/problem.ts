import type { ServerResponse } from 'node:http';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import { type Context, type Exchange, type Middleware, STATUS_CODES, send } from './exchange.ts';

/** A problem as it is sent. */
interface Problem {
  status: number;
  headers: Readonly<Record<string, string>>;
  code: string;
  detail: string;
  /** The document, serialized. */
  body: string;
}

/** Used for errors whose details callers must not see. The log has the details under the same request id. */
const UNEXPECTED = new AgentdError(
  'internal_error',
  'Something unexpected happened; search the log for the request_id.',
);

/**
 * Makes all problem documents (RFC 9457; agentd-service(7), "Errors"). A failure without a code becomes
 * `internal_error` with a fixed text.
 * @param status if the protocol requires a status other than the usual status of the code
 */
export function toProblem(error: unknown, request_id: string, status?: number): Problem {
  const known = error instanceof AgentdError ? error : UNEXPECTED;
  const { code, errors, retryAfter, members } = known;
  const answered = status ?? known.status;
  return {
    status: answered,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(answered === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
      ...(retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) }),
      ...known.headers,
    },
    code,
    detail: known.message,
    body: JSON.stringify({
      type: 'about:blank',
      title: STATUS_CODES[answered],
      status: answered,
      detail: known.message,
      code,
      request_id,
      ...members,
      ...(errors ? { errors } : {}),
    }),
  };
}

/**
 * Answers errors that are thrown by the middleware below. Headers that were set before are kept: limits, CORS,
 * security.
 */
export function problems(log: Log): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      logFailure(error, ctx.state, ctx.res, log);
      // A part of the answer was sent, so only a broken connection shows that the answer is incomplete.
      if (ctx.res.headersSent) {
        ctx.res.destroy();
        return;
      }
      const problem = toRefusal(ctx, error, log);
      ctx.state.problem = problem.code;
      ctx.state.head.setAll(problem.headers);
      send(ctx, problem.status, problem.body);
    }
  };
}

/** Uses the route's own error body (`refusal`) if it has one, even if the path exists only for another method. */
function toRefusal({ state }: Context, error: unknown, log: Log): Problem {
  const { request_id } = state;
  const problem = toProblem(error, request_id);
  const route = state.found?.route ?? state.found?.others()[0];
  if (!route?.refusal) return problem;
  const { status, code, detail, headers } = problem;
  try {
    const words: unknown = route.refusal({ status, code, detail });
    if (typeof words !== 'object' || words === null) throw new TypeError('`refusal` must return an object');
    const body = JSON.stringify(words);
    return { ...problem, headers: { ...headers, 'Content-Type': 'application/json; charset=utf-8' }, body };
  } catch (broken) {
    // `refusal` is code of a plugin. An error in it must not prevent the answer.
    log.error({ request_id, channel: route.channel, err: broken }, '`refusal` of a route failed');
    return problem;
  }
}

/** Logs why a request failed, if an operator can do something about it. */
export function logFailure(
  error: unknown,
  { request_id, address }: Pick<Exchange, 'request_id' | 'address'>,
  res: ServerResponse,
  log: Log,
): void {
  if (error instanceof AgentdError) {
    // A run that failed was logged when its message ended.
    const told = error.code === 'agent_failed' || error.code === 'agent_timeout';
    if (error.status < 500 || error.cause === undefined || told) return;
    log.warn({ request_id, address, code: error.code, err: error }, 'request failed');
  } else if (res.closed && error instanceof Error && error.name === 'AbortError') {
    log.debug({ request_id, address }, 'the handler ended because the client had closed the connection');
  } else {
    log.error({ request_id, address, err: error }, 'unexpected error');
  }
}

/**
 * Headers of every response (agentd-service(7), "Security headers"). A route that serves a page or a script replaces
 * them with its own.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function securityHeaders(): Middleware {
  return (ctx, next) => {
    ctx.state.head.setAll(SECURITY_HEADERS);
    return next();
  };
}
