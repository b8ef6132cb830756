import { AgentdError } from '../errors.ts';
import type { Middleware } from './exchange.ts';
import { setHeaders } from './respond.ts';

/** Sets the headers that a route gives every answer, the refusals below included. */
export function routeHeaders(): Middleware {
  return (ctx, next) => {
    const { route, request } = ctx.state;
    try {
      if (route.headers) setHeaders(ctx, route.headers(request));
    } catch (error) {
      // The handler meets the same problem, and that one is answered.
      if (!(error instanceof AgentdError)) throw error;
    }
    return next();
  };
}
