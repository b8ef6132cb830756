import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Log } from '../process/log.ts';
import { shortId } from '../session/ids.ts';
import { timeOrderedId } from '../time/clock.ts';
import { clientAddress } from './client-address.ts';
import type { Context, Middleware } from './exchange.ts';

const CALLERS_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Longest path that a log line shows, in characters. */
const PATH_SHOWN = 256;

/**
 * The caller's `X-Request-Id` if it has the documented form, otherwise a new id (agentd-service(7), "Request ids").
 */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && CALLERS_ID.test(given) ? given : timeOrderedId(Date.now());
}

/**
 * Adds the request id to the response. When the request has ended, logs one line with the id and the client's address.
 * @param trustProxy TRUST_PROXY
 */
export function requestId(log: Log, trustProxy: number): Middleware {
  return (ctx, next) => {
    const started = performance.now();
    ctx.state.request_id = requestIdOf(ctx.req.headers);
    ctx.state.address = addressOf(ctx.req, trustProxy);
    ctx.state.path = ctx.url.split('?', 1)[0] ?? '';
    ctx.res.setHeader('X-Request-Id', ctx.state.request_id);
    ctx.res.on('close', () => logEnd(ctx, log, performance.now() - started));
    return next();
  };
}

function addressOf({ socket, headers }: IncomingMessage, trustProxy: number): string {
  return clientAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString(), trustProxy);
}

/** Logs neither the query nor header values: both may contain a token. */
function logEnd(ctx: Context, log: Log, took: number): void {
  const answered = ctx.res.writableFinished;
  // The code that handles a request logs its success; for example, each message gets a separate line.
  const level = answered && ctx.res.statusCode >= 400 ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const line = {
    request_id: ctx.state.request_id,
    address: ctx.state.address,
    method: ctx.method,
    path: shortId(ctx.state.path.slice(0, PATH_SHOWN)),
    status: ctx.res.statusCode,
    took_ms: Math.round(took * 10) / 10,
  };
  log[level](line, answered ? 'request' : 'the connection closed before the response was complete');
}
