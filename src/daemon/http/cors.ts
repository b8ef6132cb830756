import koaCors from '@koa/cors';
import type { Log } from '../process/log.ts';
import type { Middleware } from './exchange.ts';
import { allow, type MountedRoute, resolveRoute } from './routes.ts';

const EXPOSED = 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed';
const ALLOWED = 'Content-Type, Authorization, Idempotency-Key, Last-Event-ID, X-Request-Id';
/** How long a browser may remember a preflight, seconds. */
const MAX_AGE = 600;
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
  const logForeign = ({ state, req: { headers } }: Parameters<Middleware>[0]) => {
    const { origin } = headers;
    if (origin === undefined || anyOrigin || known.has(origin)) return;
    if (logged.has(origin) || logged.size >= LOGGED_MAX) return;
    logged.add(origin);
    log.info(
      { request_id: state.request_id, address: state.address, origin },
      'a page of another origin may not use agentd; if it is yours, add its origin to WEBCHAT_ALLOWED_ORIGINS',
    );
  };
  const allowed = ({ req: { headers } }: Parameters<Middleware>[0]) => {
    if (headers.origin === undefined) return '';
    return anyOrigin ? '*' : known.has(headers.origin) ? headers.origin : '';
  };
  const sharePreflight: Middleware = koaCors({
    origin: allowed,
    credentials: !anyOrigin,
    allowHeaders: ALLOWED,
    maxAge: MAX_AGE,
  });
  const share = (ctx: Parameters<Middleware>[0]) => {
    const { head } = ctx.state;
    head.set('Vary', 'Origin');
    const origin = allowed(ctx);
    if (origin === '') return;
    head.set('Access-Control-Allow-Origin', origin);
    if (!anyOrigin) head.set('Access-Control-Allow-Credentials', 'true');
    head.set('Access-Control-Expose-Headers', EXPOSED);
  };
  return (ctx, next) => {
    if (ctx.method === 'OPTIONS') {
      if (ctx.state.found.others().some(isCors)) logForeign(ctx);
      return describeRoutes(ctx, sharePreflight);
    }
    const { route, others } = ctx.state.found;
    if (route ? isCors(route) : others().some(isCors)) share(ctx);
    return next();
  };
}

/** Answers with the methods of the path; a preflight also gets the methods that pages may use. */
async function describeRoutes(ctx: Parameters<Middleware>[0], share: Middleware): Promise<void> {
  ctx.state.head.handOver();
  const routes = ctx.state.found.others();
  if (routes.length === 0) resolveRoute(ctx.state.found, ctx.method);
  const shared = routes.filter(isCors);
  if (shared.length > 0) await share(ctx, async () => {});
  ctx.status = 204;
  ctx.set('Allow', allow(routes));
  if (ctx.res.hasHeader('Access-Control-Allow-Methods'))
    ctx.set('Access-Control-Allow-Methods', allow(shared));
}

function isCors(route: MountedRoute): boolean {
  return route.cors === true;
}
