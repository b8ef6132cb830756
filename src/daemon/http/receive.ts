import type { RequestSequencer } from '../message/waits/request-sequencer.ts';
import { discard, readBody } from './body.ts';
import type { Context, Middleware } from './exchange.ts';
import type { BodyRoom, LargeBodies } from './large-bodies.ts';
import { ReceivedRequest } from './received-request.ts';
import { routeOf } from './router.ts';
import type { MountedRoute } from './routes.ts';

export interface ReceiveParts {
  largeBodies: LargeBodies;
  sequencer: RequestSequencer;
}

/**
 * Reads the body and gives the request its place in the order of arrival. If the body is refused, the request continues
 * without it, because it must first be counted for the rate limit.
 */
export function receive({ largeBodies, sequencer }: ReceiveParts): Middleware {
  return async (ctx, next) => {
    const route = routeOf(ctx.state.found, ctx.method);
    const room = roomFor(ctx, route, largeBodies);
    try {
      let bodyProblem: unknown = null;
      const body = await readBody(ctx.req, route, room).catch((error: unknown) => {
        bodyProblem = error;
        return new Uint8Array();
      });
      const request = new ReceivedRequest(ctx, body);
      request.ticket = sequencer.ticketOf(route, request);
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

/** Decides how much of the request's body may be read. @throws `unavailable` */
function roomFor(ctx: Context, route: MountedRoute, largeBodies: LargeBodies): BodyRoom {
  try {
    return largeBodies.enter(ctx.req, route);
  } catch (error) {
    discard(ctx.req);
    throw error;
  }
}
