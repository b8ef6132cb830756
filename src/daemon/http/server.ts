import { setMaxListeners } from 'node:events';
import Koa from 'koa';
import type { Route } from '../../channel/index.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { RequestSequencer } from '../message/waits/request-sequencer.ts';
import type { Log } from '../process/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { settledWithin } from '../time/time-limit.ts';
import type { Observer } from '../trace/observer.ts';
import { answer } from './answer.ts';
import { answerBrokenRequests, requireHost } from './broken-request.ts';
import { cors } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { expectRoom } from './expect-room.ts';
import { warnOfForwarded } from './forwarded-warning.ts';
import { admit, InFlight } from './in-flight.ts';
import { LargeBodies } from './large-bodies.ts';
import {
  createListener,
  type InheritedSocket,
  type ListeningAddress,
  listen,
  stopAccepting,
  stopListening,
} from './listener.ts';
import { observeRequests } from './observe-requests.ts';
import { problems } from './problem.ts';
import { quietTick } from './quiet-tick.ts';
import { rateLimit } from './rate-limit.ts';
import { receive } from './receive.ts';
import { keepRefusals, Refusals } from './refusals.ts';
import { requestId } from './request-id.ts';
import { routeHeaders } from './route-headers.ts';
import { createRouter, findRoute } from './router.ts';
import { type ActiveChannel, type OutageOf, routes } from './routes.ts';
import { securityHeaders } from './security-headers.ts';
import { validateToken } from './validate-token.ts';

/** How long a proxy may still send requests on connections that it has kept, ms. */
const LAST_REQUESTS = 2500;
/** Time in which the last answers must be sent when the server closes, ms. */
const FAREWELL = 1000;

export interface ServerParts {
  settings: Settings;
  store: Pick<Store, 'limits' | 'traces' | 'expectRoom'>;
  tokens: TokenValidator;
  log: Log;
  clock: Clock;
  observer: Pick<Observer, 'requestEnded'>;
  sequencer: RequestSequencer;
  channels: readonly ActiveChannel[];
  /** Further routes that belong to no channel. */
  ownRoutes?: readonly Route[];
  /** The state of a platform that the inbox cannot reach; null if the inbox knows of no outage. */
  outageOf?: OutageOf;
  /** Maximum time for a request to arrive, ms; for tests. */
  requestTimeout?: number;
}

export interface Server {
  /** Rejects with the system's error if it cannot listen. Port 0 means any free port. */
  listen(target: { host: string; port: number } | InheritedSocket): Promise<ListeningAddress>;
  /**
   * Refuses new connections, so that a proxy sends its requests to another daemon at once. Open connections end with
   * their next answer; requests that arrive on them soon are still answered.
   */
  refuseConnections(): Promise<void>;
  /**
   * Ends open streams and waits for the running requests. A server that listens continues to listen, and refuses new
   * requests (503). False if a request was still unanswered after `graceMs`; the server then stops listening.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** The HTTP side of the daemon: the middleware of every request, in order. */
export function createServer(parts: ServerParts): Server {
  const { settings, store, log, clock } = parts;
  const ownRoutes = (parts.ownRoutes ?? []).map((route) => ({ ...route, channel: null }));
  const inFlight = new InFlight();
  const streams = new AbortController();
  // Each open stream adds a listener.
  setMaxListeners(0, streams.signal);
  const app = new Koa<Exchange>();
  app.use(requestId(log, settings.TRUST_PROXY));
  app.use(observeRequests(parts.observer));
  app.use(warnOfForwarded(settings.TRUST_PROXY, log));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(
    findRoute(createRouter([...routes(parts.channels, parts.outageOf ?? (() => null), log), ...ownRoutes])),
  );
  app.use(cors(settings.WEBCHAT_ALLOWED_ORIGINS, log));
  app.use(admit(inFlight));
  app.use(keepRefusals(new Refusals(store, clock, log), clock));
  const largeBodies = new LargeBodies(settings.BODY_LIMIT_BYTES, clock);
  app.use(receive({ largeBodies, sequencer: parts.sequencer }));
  app.use(routeHeaders());
  app.use(expectRoom(store));
  app.use(validateToken(parts.tokens));
  app.use(rateLimit({ settings, store }));
  app.use(answer({ stopping: streams.signal, log }));
  // Only the error of a broken connection gets past `problems`.
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection error'));

  const server = createListener(app, log, {
    keepAliveSeconds: settings.KEEP_ALIVE_SECONDS,
    requestTimeout: parts.requestTimeout,
  });
  answerBrokenRequests(server, inFlight, log);
  return {
    listen: (target) => listen(server, 'fd' in target ? target : { ...target, setting: 'HOST' }, log),
    async refuseConnections() {
      await quietTick();
      const closed = stopAccepting(server);
      inFlight.retire();
      await settledWithin([closed], LAST_REQUESTS);
    },
    async drain(graceMs) {
      // If the server no longer listens, remaining requests are still answered, and their connections then end.
      if (server.listening) inFlight.drain();
      // Readers of streams reconnect, and get everything that they have missed (agentd-message(7), "Reconnecting").
      streams.abort();
      if (await inFlight.ended(graceMs)) return true;
      stopListening(server);
      return false;
    },
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
