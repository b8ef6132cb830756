import type { ChannelResponse } from '../../channel/index.ts';
import type { Clock } from '../clock.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';
import type { Arrivals } from './arrivals.ts';
import { readBody } from './body.ts';
import type { Context, Middleware } from './exchange.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Refusals } from './refusals.ts';
import { ReceivedRequest } from './request.ts';
import { respond, type StreamParts } from './respond.ts';
import { routeOf } from './router.ts';
import type { MountedRoute } from './routes.ts';

export interface AnswerParts extends StreamParts {
  settings: Pick<Settings, 'BODY_LIMIT_BYTES' | 'TRUST_PROXY'>;
  clock: Clock;
  store: Pick<Store, 'expectRoom'>;
  rateLimit: RateLimit;
  refusals: Refusals;
  arrivals: Arrivals;
}

/** Last of the middleware: body, limit, handler, response. */
export function answer(parts: AnswerParts): Middleware {
  return async (ctx) => {
    const route = routeOf(ctx.state.found, ctx.method);
    const started_at = parts.clock.now();
    try {
      const response = await handle(ctx, route, parts);
      respond(ctx, response, parts);
    } catch (error) {
      const { limited = false, channel } = route;
      if (channel !== null) {
        parts.refusals.keep({ request_id: ctx.state.request_id, limited, channel, started_at, error });
      }
      throw error;
    }
  };
}

async function handle(ctx: Context, route: MountedRoute, parts: AnswerParts): Promise<ChannelResponse> {
  const { BODY_LIMIT_BYTES, TRUST_PROXY } = parts.settings;
  let refusal: unknown = null;
  const body = await readBody(ctx.req, route, BODY_LIMIT_BYTES).catch((error: unknown) => {
    refusal = error;
    return new Uint8Array();
  });
  const request = new ReceivedRequest(ctx, body, TRUST_PROXY);
  const place = parts.arrivals.takePlace(route, request);
  try {
    // Messages come by POST; answers of messages that were accepted are still stored, and read.
    if (route.channel !== null && route.method === 'POST') parts.store.expectRoom();
    // A request that is refused for its body counts as well, for the person of its header where it has one.
    if (route.limited) await parts.rateLimit(ctx, route, request);
    if (refusal !== null) throw refusal;
    return await route.handle(request);
  } finally {
    place?.leave();
  }
}
