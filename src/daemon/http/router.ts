import createFindMyWay, { type HTTPMethod } from 'find-my-way';
import { AgentdError } from '../errors.ts';
import type { Middleware } from './exchange.ts';
import type { MountedRoute } from './routes.ts';

/** Longest value of a path parameter, in characters. */
const PARAM_MAX = 16_384;

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const satisfies readonly MountedRoute['method'][];

/** The route that answers a request. */
export interface Found {
  /** Null if no route answers this method. */
  route: MountedRoute | null;
  params: Readonly<Record<string, string>>;
  /** The routes of the same path for all methods. A function, because few requests need them. */
  others(): readonly MountedRoute[];
}

export interface Router {
  /** HEAD finds the route of GET (RFC 9110 §9.3.2). */
  find(method: string, url: string): Found;
}

/** Paths are case-sensitive and exact. A path with broken percent-encoding finds no route. */
export function createRouter(routes: readonly MountedRoute[]): Router {
  const tree = createFindMyWay({
    caseSensitive: true,
    maxParamLength: PARAM_MAX,
    querystringParser: () => ({}),
  });
  // Only `find` is used; the library requires a handler.
  for (const route of routes) tree.on(route.method, route.path, () => undefined, route);
  const lookUp = (method: string, url: string) => tree.find(method as HTTPMethod, url);
  return {
    find(method, url) {
      const match = lookUp(method === 'HEAD' ? 'GET' : method, url);
      return {
        route: (match?.store as MountedRoute | undefined) ?? null,
        params: (match?.params ?? {}) as Readonly<Record<string, string>>,
        others: () =>
          METHODS.flatMap((other) => (lookUp(other, url)?.store as MountedRoute | undefined) ?? []),
      };
    },
  };
}

/** Finds the route before any other middleware needs it: CORS must know it before a request can be refused. */
export function findRoute(router: Router): Middleware {
  return (ctx, next) => {
    ctx.state.found = router.find(ctx.method, ctx.url);
    return next();
  };
}

/** The header `Allow` for the routes of one path. */
export function allow(routes: readonly MountedRoute[]): string {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
}

/** @throws `not_found`, or `method_not_allowed` if the path has routes for other methods. */
export function routeOf(found: Found, method: string): MountedRoute {
  if (found.route) return found.route;
  const others = found.others();
  if (others.length === 0) throw new AgentdError('not_found', 'There is no such path.');
  throw new AgentdError('method_not_allowed', `The path does not support ${method}.`, {
    headers: { Allow: allow(others) },
  });
}
