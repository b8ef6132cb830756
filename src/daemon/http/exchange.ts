import type Koa from 'koa';
import type { ReceivedRequest } from './received-request.ts';
import type { Found } from './router.ts';
import type { MountedRoute } from './routes.ts';

/**
 * The data about a request that the middleware adds to Koa's context. Each comment names the middleware that sets the
 * field.
 */
export interface Exchange {
  /** request-id */
  request_id: string;
  /** request-id; address of the client, by TRUST_PROXY (client-address.ts) */
  address: string;
  /** request-id; the request target up to the query, as it was sent. Koa's own getter can throw. */
  path: string;
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
