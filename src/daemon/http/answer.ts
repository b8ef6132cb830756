import type { Middleware } from './exchange.ts';
import { respond, type StreamParts } from './respond.ts';

/** The last middleware: calls the route's handler and sends its response. */
export function answer(parts: StreamParts): Middleware {
  return async (ctx) => {
    const { route, request, bodyProblem } = ctx.state;
    if (bodyProblem !== null) throw bodyProblem;
    respond(ctx, await route.handle(request), parts);
  };
}
