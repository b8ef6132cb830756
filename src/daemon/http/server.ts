import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Route } from '../../channel/index.ts';
import type { Services } from '../message/services.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { settledWithin } from '../time/time-limit.ts';
import type { Observer } from '../trace/observer.ts';
import { LargeBodies } from './body.ts';
import { cors } from './cors.ts';
import { App, type Middleware } from './exchange.ts';
import {
  admit,
  createListener,
  InFlight,
  type InheritedSocket,
  listen,
  requireHost,
  stopAccepting,
  stopListening,
} from './listener.ts';
import { problems, securityHeaders } from './problem.ts';
import { rateLimit } from './rate-limit.ts';
import { receive, validateToken } from './received-request.ts';
import { keepRefusals, Refusals } from './refusals.ts';
import { requestId, warnOfForwarded } from './request-id.ts';
import { answer, routeHeaders } from './respond.ts';
import { createRouter, findRoute, type HealthParts, routes } from './routes.ts';

/** How long a proxy may still send requests on connections that it has kept, ms. */
const LAST_REQUESTS = 2500;
/** Time in which the last answers must be sent when the server closes, ms. */
const FAREWELL = 1000;

interface ServerParts extends HealthParts {
  /** A reload replaces some of them, which are therefore read at each request. */
  services: HealthParts['services'] &
    Pick<Services, 'settings' | 'tokens' | 'log' | 'sequencer'> & {
      store: Pick<Store, 'limits' | 'traces' | 'expectRoom'>;
      clock: Clock;
      observer: Pick<Observer, 'requestEnded'>;
    };
  /** Further routes that belong to no channel. */
  ownRoutes?: readonly Route[];
  /** Maximum time for a request to arrive, ms; for tests. */
  requestTimeout?: number;
}

/** The HTTP side of the daemon: the middleware of every request, in order. */
export function createServer(parts: ServerParts) {
  const { services } = parts;
  const { settings, store, log, clock } = services;
  const ownRoutes = (parts.ownRoutes ?? []).map((route) => ({ ...route, channel: null }));
  const inFlight = new InFlight();
  const streams = new AbortController();
  // Each open stream adds a listener.
  setMaxListeners(0, streams.signal);
  const app = new App();
  app.use(requestId(log, settings.TRUST_PROXY));
  app.use(observeRequests(services.observer));
  app.use(warnOfForwarded(settings.TRUST_PROXY, log));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(findRoute(createRouter([...routes(parts, log), ...ownRoutes])));
  app.use(cors(settings.WEBCHAT_ALLOWED_ORIGINS, log));
  app.use(admit(inFlight));
  app.use(
    keepRefusals(new Refusals({ store, clock, log, agentDigest: () => services.agents.digest() }), clock),
  );
  const largeBodies = new LargeBodies(() => services.settings.BODY_LIMIT_BYTES, clock);
  app.use(receive({ largeBodies, sequencer: services.sequencer }));
  app.use(routeHeaders());
  app.use(expectRoom(store));
  app.use(validateToken(services));
  app.use(rateLimit(services));
  app.use(answer({ stopping: streams.signal, log }));

  const server = createListener(app, inFlight, log, {
    keepAliveSeconds: settings.KEEP_ALIVE_SECONDS,
    requestTimeout: parts.requestTimeout,
  });
  return {
    /** Rejects with the system's error if it cannot listen. Port 0 means any free port. */
    listen: (target: { host: string; port: number } | InheritedSocket) =>
      listen(server, 'fd' in target ? target : { ...target, setting: 'HOST' }, log),
    /**
     * Refuses new connections, so that a proxy sends its requests to another daemon at once. Open connections end with
     * their next answer; requests that arrive on them soon are still answered.
     */
    async refuseConnections() {
      await quietTick();
      const closed = stopAccepting(server);
      inFlight.retire();
      await settledWithin([closed], LAST_REQUESTS);
    },
    /**
     * Ends open streams and waits for the running requests. A server that listens continues to listen, and refuses new
     * requests (503). False if a request was still unanswered after `graceMs`; the server then stops listening.
     */
    async drain(graceMs: number) {
      // If the server no longer listens, remaining requests are still answered, and their connections then end.
      if (server.listening) inFlight.drain();
      // Readers of streams reconnect, and get everything that they have missed (agentd-message(7), "Reconnecting").
      streams.abort();
      if (await inFlight.ended(graceMs)) return true;
      stopListening(server);
      return false;
    },
    /** Stops listening and ends every connection. */
    async close() {
      inFlight.drain();
      const closed = stopListening(server);
      streams.abort();
      server.closeIdleConnections();
      await inFlight.ended(FAREWELL);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Refuses messages (POST requests) while the store is almost full. Answers can still be stored and read. */
function expectRoom(store: Pick<Store, 'expectRoom'>): Middleware {
  return ({ state: { route } }, next) => {
    if (route.channel !== null && route.method === 'POST') store.expectRoom();
    return next();
  };
}

/**
 * Reports each request to the observer after its answer was sent or its client has disconnected. Must be above
 * `problems`.
 */
function observeRequests(observer: Pick<Observer, 'requestEnded'>): Middleware {
  return (ctx, next) => {
    const began = performance.now();
    ctx.res.on('close', () => {
      const { found, problem } = ctx.state;
      observer.requestEnded({
        route: found?.route?.path ?? null,
        method: ctx.method,
        status: ctx.res.statusCode,
        code: problem ?? null,
        seconds: (performance.now() - began) / 1000,
      });
    });
    return next();
  };
}

/** Maximum duration of a tick that had nothing to do, ms. */
const QUIET_MS = 0.2;
/** Maximum number of ticks to wait for. */
const TICKS_MAX = 2000;

/**
 * Resolves at the end of a tick of the event loop that had almost nothing to do. By then, everything that the system
 * had ready for this process has been accepted, including connections. On a busy loop, resolves after TICKS_MAX ticks.
 */
async function quietTick(): Promise<void> {
  for (let ticks = 0; ticks < TICKS_MAX; ticks++) {
    const began = performance.now();
    await setImmediate();
    if (performance.now() - began < QUIET_MS) return;
  }
}
