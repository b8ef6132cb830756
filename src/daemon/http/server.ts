import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import Koa from 'koa';
import type { Route } from '../../channel/index.ts';
import type { Clock } from '../clock.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { Log } from '../log.ts';
import type { RequestSequencer } from '../message/request-sequencer.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';
import type { Observer } from '../trace/observer.ts';
import { answer } from './answer.ts';
import { answerBrokenRequests, requireHost } from './broken-request.ts';
import { cors } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { expectRoom } from './expect-room.ts';
import { warnOfForwarded } from './forwarded-warning.ts';
import { admit, InFlight } from './in-flight.ts';
import { LargeBodies } from './large-bodies.ts';
import { createListener, type ListeningAddress, listen, stopAccepting, stopListening } from './listener.ts';
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
/** What answers of the last moment have to leave in when the server closes, ms. */
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
  /** What the inbox knows of a platform that is out of reach; null: nothing. */
  outageOf?: OutageOf;
  /** ms that a request may take to arrive; for tests. */
  requestTimeout?: number;
}

export interface Server {
  /** Rejects with the system's error if it cannot listen. @param port 0 takes a free one */
  listen(host: string, port: number): Promise<ListeningAddress>;
  /**
   * Refuses new connections, so that a proxy sends the request to another daemon at once. Those that are open end with their
   * next answer; what is sent on them soon is answered.
   */
  refuseConnections(): Promise<void>;
  /**
   * Ends open streams and waits for the running requests. If it listens, it goes on listening and refuses new requests
   * (503). False
   * where `graceMs` passed with one unanswered: then nobody is listened to any more.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** The HTTP side of the daemon: what every request passes, in order. */
export function createServer(parts: ServerParts): Server {
  const { settings, store, log, clock } = parts;
  const ownRoutes = (parts.ownRoutes ?? []).map((route) => ({ ...route, channel: null }));
  const inFlight = new InFlight();
  const streams = new AbortController();
  // One listener for each open stream.
  setMaxListeners(0, streams.signal);
  const app = new Koa<Exchange>();
  app.use(requestId(log));
  app.use(observeRequests(parts.observer));
  app.use(warnOfForwarded(settings.TRUST_PROXY, log));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(
    findRoute(createRouter([...routes(parts.channels, parts.outageOf ?? (() => null), log), ...ownRoutes])),
  );
  app.use(cors(settings.WEBCHAT_ALLOWED_ORIGINS));
  app.use(admit(inFlight));
  app.use(keepRefusals(new Refusals(store, clock, log), clock));
  const largeBodies = new LargeBodies(settings.BODY_LIMIT_BYTES, clock);
  app.use(receive({ settings, largeBodies, sequencer: parts.sequencer }));
  app.use(routeHeaders());
  app.use(expectRoom(store));
  app.use(validateToken(parts.tokens));
  app.use(rateLimit({ settings, store }));
  app.use(answer({ stopping: streams.signal, log }));
  // Only the error of a connection that broke gets past `problems`.
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection error'));

  const server = createListener(app, log, {
    keepAliveSeconds: settings.KEEP_ALIVE_SECONDS,
    requestTimeout: parts.requestTimeout,
  });
  answerBrokenRequests(server, inFlight, log);
  return {
    listen: (host, port) => listen(server, { host, port, setting: 'HOST' }, log),
    async refuseConnections() {
      await quietTick();
      const closed = stopAccepting(server);
      inFlight.retire();
      await Promise.race([closed, setTimeout(LAST_REQUESTS)]);
    },
    async drain(graceMs) {
      // If nobody can connect any more, what still comes is answered: its connection ends with it.
      if (server.listening) inFlight.drain();
      // Their readers come back, and find all they have missed (agentd-message(7), "Reconnecting").
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
