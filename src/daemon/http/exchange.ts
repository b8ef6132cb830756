import type Koa from 'koa';
import type { Found } from './router.ts';

/** What the middleware knows of a request, beside what Koa does; each field is set by the one named. */
export interface Exchange {
  /** request-id */
  request_id: string;
  /** request-id; the request target up to the query, as it was sent. Koa's own getter can throw. */
  path: string;
  /** find-route */
  found: Found;
}

export type Context = Koa.ParameterizedContext<Exchange>;
export type Middleware = Koa.Middleware<Exchange>;
