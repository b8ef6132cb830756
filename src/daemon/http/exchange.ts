import type Koa from 'koa';
import type { ReceivedRequest } from './received-request.ts';
import type { ResponseHead } from './response-head.ts';
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
