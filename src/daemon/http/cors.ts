import type { Context, Middleware } from './exchange.ts';
import { allow, routeOf } from './router.ts';
import type { MountedRoute } from './routes.ts';

const EXPOSED = 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed';
const ALLOWED = 'Content-Type, Authorization, Idempotency-Key, Last-Event-ID, X-Request-Id';
/** How long a browser may remember a preflight, seconds. */
const MAX_AGE = '600';

/**
 * Cross-origin requests from the allowed origins, compared exactly (decisions §1), to routes that say `cors`.
 * Another origin gets no allow-origin header: its browser keeps the answer from it. Ends every OPTIONS.
 * @param origins `*` alone lets any origin in, without credentials
 */
export function cors(origins: readonly string[]): Middleware {
  const known = new Set(origins);
  return (ctx, next) => {
    if (ctx.method === 'OPTIONS') return preflight(ctx, known);
    const { route, others } = ctx.state.found;
    if (route ? route.cors : others().some(isCors)) share(ctx, known);
    return next();
  };
}

/** An OPTIONS without an `Origin` only asks for the methods. */
async function preflight(ctx: Context, known: ReadonlySet<string>): Promise<void> {
  const routes = ctx.state.found.others();
  if (routes.length === 0) routeOf(ctx.state.found, ctx.method);
  ctx.status = 204;
  ctx.set('Allow', allow(routes));
  const shared = routes.filter(isCors);
  if (shared.length === 0 || !share(ctx, known)) return;
  ctx.set('Access-Control-Allow-Methods', allow(shared));
  ctx.set('Access-Control-Allow-Headers', ALLOWED);
  ctx.set('Access-Control-Max-Age', MAX_AGE);
}

/** True where the origin may read the answer. */
function share(ctx: Context, known: ReadonlySet<string>): boolean {
  // Also for callers without an origin, so that a cache never hands their answer to one that has.
  ctx.vary('Origin');
  const { origin } = ctx.req.headers;
  if (origin === undefined) return false;
  const anyone = known.has('*');
  if (!anyone && !known.has(origin)) return false;
  ctx.set('Access-Control-Allow-Origin', anyone ? '*' : origin);
  if (!anyone) ctx.set('Access-Control-Allow-Credentials', 'true');
  ctx.set('Access-Control-Expose-Headers', EXPOSED);
  return true;
}

function isCors(route: MountedRoute): boolean {
  return route.cors === true;
}
