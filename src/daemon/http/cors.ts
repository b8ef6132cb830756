import type { Log } from '../process/log.ts';
import type { Context, Middleware } from './exchange.ts';
import { allow, type MountedRoute, resolveRoute } from './routes.ts';

const EXPOSED = 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed';
const ALLOWED = 'Content-Type, Authorization, Idempotency-Key, Last-Event-ID, X-Request-Id';
/** How long a browser may remember a preflight, seconds. */
const MAX_AGE = '600';
/** How many origins that are not allowed are logged; anybody can invent more. */
const LOGGED_MAX = 20;

/**
 * Lets pages of the allowed origins call the routes with `cors`. Origins are compared exactly. A page of another origin
 * gets no allow-origin header, so the browser withholds the response from it. The browser tells such a page nothing, so
 * the first preflight of each origin is logged. Answers every OPTIONS request.
 * @param origins `*` allows every origin, without credentials
 */
export function cors(origins: readonly string[], log: Log): Middleware {
  const known = new Set(origins);
  const anyOrigin = known.has('*');
  const logged = new Set<string>();
  const logForeign = ({ state, req: { headers } }: Context) => {
    const { origin } = headers;
    if (origin === undefined || anyOrigin || known.has(origin)) return;
    if (logged.has(origin) || logged.size >= LOGGED_MAX) return;
    logged.add(origin);
    log.info(
      { request_id: state.request_id, address: state.address, origin },
      'a page of another origin may not use agentd; if it is yours, add its origin to WEBCHAT_ALLOWED_ORIGINS',
    );
  };
  /** Says that answers differ by origin. @returns the origin to allow; null if the page may not read the answer. */
  const judgeOrigin = ({ req: { headers }, state: { head } }: Context): string | null => {
    head.set('Vary', 'Origin');
    const { origin } = headers;
    if (origin === undefined) return null;
    return anyOrigin ? '*' : known.has(origin) ? origin : null;
  };
  const share = ({ state: { head } }: Context, origin: string) => {
    head.set('Access-Control-Allow-Origin', origin);
    if (!anyOrigin) head.set('Access-Control-Allow-Credentials', 'true');
  };
  /** Answers with the methods of the path, and pages of an allowed origin with what they may send. */
  const describeRoutes = (ctx: Context) => {
    const { found, head } = ctx.state;
    head.handOver();
    const routes = found.others();
    if (routes.length === 0) resolveRoute(found, ctx.method);
    ctx.status = 204;
    head.set('Allow', allow(routes));
    const shared = routes.filter(isCors);
    if (shared.length === 0) return;
    logForeign(ctx);
    const origin = judgeOrigin(ctx);
    if (origin === null) return;
    share(ctx, origin);
    head.set('Access-Control-Max-Age', MAX_AGE);
    head.set('Access-Control-Allow-Methods', allow(shared));
    head.set('Access-Control-Allow-Headers', ALLOWED);
  };
  return (ctx, next) => {
    if (ctx.method === 'OPTIONS') {
      describeRoutes(ctx);
      ctx.res.end();
      return;
    }
    const { route, others } = ctx.state.found;
    if (route ? isCors(route) : others().some(isCors)) {
      const origin = judgeOrigin(ctx);
      if (origin !== null) {
        share(ctx, origin);
        ctx.state.head.set('Access-Control-Expose-Headers', EXPOSED);
      }
    }
    return next();
  };
}

function isCors(route: MountedRoute): boolean {
  return route.cors === true;
}
