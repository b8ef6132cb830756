import { AgentdError } from '../errors.ts';
import type { Middleware } from './exchange.ts';
import { setHeaders } from './respond.ts';

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
