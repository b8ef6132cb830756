import createFindMyWay, { type HTTPMethod } from 'find-my-way';
import type { Channel, ChannelHealth, ChannelPlugin, Route } from '../../channel/index.ts';
import { plainValue } from '../../channel/plain-value.ts';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { Middleware } from './exchange.ts';

/** An active channel, and the plugin that created it. */
export interface ActiveChannel {
  plugin: ChannelPlugin;
  channel: Channel;
}

/** The state of a platform that cannot be reached; null if no outage is known. */
export type FindOutage = (platform: string) => ChannelHealth | null;

/** The agents, as the state of the service names them. */
export interface AgentsSeen {
  readonly all: readonly { readonly name: string; digest(): string }[];
  /** The digest of instructions, tools and models of all agents. */
  digest(): string;
}

/** What `GET /` tells. */
export interface HealthParts {
  channels: readonly ActiveChannel[];
  /** The state of a platform that the inbox cannot reach; null if the inbox knows of no outage. */
  findOutage?: FindOutage;
  /** The agents are read at each request: they may change. */
  services: { readonly agents: AgentsSeen };
  /** The state of the renewal of tokens. Absent if they are not renewed. */
  renewal?: () => ChannelHealth;
}

export interface MountedRoute extends Route {
  /** The channel that the route belongs to; null if it is the daemon's own. */
  channel: string | null;
}

/** All routes that the daemon answers. */
export function routes(parts: HealthParts, log: Log): MountedRoute[] {
  return [
    { method: 'GET', path: '/', channel: null, handle: health(parts, log) },
    ...parts.channels.flatMap(({ plugin, channel }) =>
      channel.routes.map((route) => mount(route, plugin.name)),
    ),
  ];
}

/** A route may be an instance of a class, so its functions are called with the route as `this`. */
function mount(route: Route, channel: string): MountedRoute {
  return {
    ...route,
    channel,
    ...(route.token ? { token: (request) => plainValue(route.token?.(request), 'token') } : {}),
    ...(route.refusal
      ? { refusal: (problem) => plainValue(route.refusal?.(problem), 'refusal') as object }
      : {}),
    ...(route.headers ? { headers: (request) => plainValue(route.headers?.(request) ?? {}, 'headers') } : {}),
    ...(route.thread ? { thread: (request) => plainValue(route.thread?.(request) ?? null, 'thread') } : {}),
    handle: (request) => route.handle(request),
  };
}

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

interface Router {
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
export function resolveRoute(found: Found, method: string): MountedRoute {
  if (found.route) return found.route;
  const others = found.others();
  if (others.length === 0) throw new AgentdError('not_found', 'There is no such path.');
  throw new AgentdError('method_not_allowed', `The path does not support ${method}.`, {
    headers: { Allow: allow(others) },
  });
}

/**
 * `GET /`: the active platforms and their state (agentd-service(7), "GET /"). `status` says only that the process is
 * serving. Nothing outside of the process is asked, so the answer does not change if the store is unreachable.
 */
export function health(parts: HealthParts, log: Log): Route['handle'] {
  const { channels, findOutage = () => null, renewal } = parts;
  return () => ({
    headers: { 'X-Agent-Digest': joinDigests(parts.services.agents) },
    body: {
      status: 'ok',
      platforms: channels.map(({ plugin }) => plugin.name),
      adapters: Object.fromEntries(
        channels.map(({ plugin: { name }, channel }) => {
          const own = readHealth(name, channel, log);
          // The channel's own report is more specific.
          return [name, own.status === 'ok' ? (findOutage(name) ?? own) : own];
        }),
      ),
      ...(renewal?.().status === 'degraded' ? { renewal: renewal() } : {}),
    },
  });
}

/** Longest list of digests, in characters: proxies and clients refuse long headers. */
const MAX_DIGESTS = 4096;

/** `digest`, or `digest, name=digest, …` if there are several agents. */
function joinDigests(agents: AgentsSeen): string {
  const digest = agents.digest();
  if (agents.all.length === 1) return digest;
  const list = [digest, ...agents.all.map((one) => `${one.name}=${one.digest()}`)].join(', ');
  return list.length > MAX_DIGESTS ? digest : list;
}

function readHealth(name: string, channel: Channel, log: Log): ChannelHealth {
  try {
    return readReport(plainValue(channel.health?.() ?? { status: 'ok' }, 'health'));
  } catch (error) {
    log.warn({ channel: name, err: error }, 'a channel could not report its health');
    return { status: 'degraded', detail: 'The channel could not report its health.' };
  }
}

/**
 * The documented members of a report. A plugin without types may return anything.
 * @throws TypeError for an unknown status
 */
function readReport({ status, detail }: { status: unknown; detail?: unknown }): ChannelHealth {
  if (status === 'ok') return { status };
  if (status !== 'degraded') throw new TypeError(`\`health\` returned the status ${String(status)}`);
  return { status, detail: typeof detail === 'string' ? detail : 'The channel gives no reason.' };
}
