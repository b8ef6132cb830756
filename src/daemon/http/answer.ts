import type { ChannelResponse } from '../../channel/index.ts';
import type { Clock } from '../clock.ts';
import { AgentdError } from '../errors.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';
import type { Arrivals } from './arrivals.ts';
import { discard, readBody } from './body.ts';
import type { Context, Middleware } from './exchange.ts';
import type { BodyRoom, LargeBodies } from './large-bodies.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Refusals } from './refusals.ts';
import { ReceivedRequest } from './request.ts';
import { respond, type StreamParts, setHeaders } from './respond.ts';
import { routeOf } from './router.ts';
import type { MountedRoute } from './routes.ts';

export interface AnswerParts extends StreamParts {
  settings: Pick<Settings, 'TRUST_PROXY'>;
  clock: Clock;
  store: Pick<Store, 'expectRoom'>;
  rateLimit: RateLimit;
  refusals: Refusals;
  largeBodies: LargeBodies;
  arrivals: Arrivals;
}

/** Last of the middleware: body, limit, handler, response. */
export function answer(parts: AnswerParts): Middleware {
  return async (ctx) => {
    const route = routeOf(ctx.state.found, ctx.method);
    const started_at = parts.clock.now();
    try {
      const room = roomFor(ctx, route, parts);
      try {
        const response = await handle(ctx, route, parts, room);
        respond(ctx, response, parts);
      } finally {
        room.leave();
      }
    } catch (error) {
      const { limited = false, channel } = route;
      if (channel !== null) {
        parts.refusals.keep({ request_id: ctx.state.request_id, limited, channel, started_at, error });
      }
      throw error;
    }
  };
}

/** @throws `unavailable` */
function roomFor(ctx: Context, route: MountedRoute, { largeBodies }: AnswerParts): BodyRoom {
  try {
    return largeBodies.enter(ctx.req, route);
  } catch (error) {
    discard(ctx.req);
    throw error;
  }
}

async function handle(
  ctx: Context,
  route: MountedRoute,
  parts: AnswerParts,
  room: BodyRoom,
): Promise<ChannelResponse> {
  let refusal: unknown = null;
  const body = await readBody(ctx.req, route, room).catch((error: unknown) => {
    refusal = error;
    return new Uint8Array();
  });
  const request = new ReceivedRequest(ctx, body, parts.settings.TRUST_PROXY);
  request.place = parts.arrivals.takePlace(route, request);
  try {
    setOwnHeaders(ctx, route, request);
    // Messages come by POST; answers of messages that were accepted are still stored, and read.
    if (route.channel !== null && route.method === 'POST') parts.store.expectRoom();
    // A request that is refused for its body counts as well, for the person of its header where it has one.
    if (route.limited) await parts.rateLimit(ctx, route, request);
    if (refusal !== null) throw refusal;
    return await route.handle(request);
  } finally {
    request.place?.leave();
  }
}

/** A problem that the route meets here is the handler's to answer: it meets the same one. */
function setOwnHeaders(ctx: Context, route: MountedRoute, request: ReceivedRequest): void {
  if (!route.headers) return;
  try {
    setHeaders(ctx, route.headers(request));
  } catch (error) {
    if (!(error instanceof AgentdError)) throw error;
  }
}
