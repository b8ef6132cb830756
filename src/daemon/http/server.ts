import { setMaxListeners } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Clock } from '../clock.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { Log } from '../log.ts';
import { createServer as createHttpServer } from '../node-http.ts';
import { ConfigurationError } from '../settings/problem.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from '../store/store.ts';
import { answer } from './answer.ts';
import type { Arrivals } from './arrivals.ts';
import { answerBrokenRequests, requireHost } from './broken-request.ts';
import { cors } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { admit, InFlight } from './in-flight.ts';
import { problems } from './problem.ts';
import { createRateLimit } from './rate-limit.ts';
import { Refusals } from './refusals.ts';
import { requestId } from './request-id.ts';
import { createRouter, findRoute } from './router.ts';
import { type ActiveChannel, type OutageOf, routes } from './routes.ts';
import { securityHeaders } from './security-headers.ts';

/** A request must have arrived whole within this time, ms. */
const REQUEST_TIMEOUT = 30_000;
/** How often connections are looked at for that, ms. */
const CHECKING_INTERVAL = 5000;
/** Longer than the 60 s after which common proxies drop an idle connection, so that they are never the second. */
const KEEP_ALIVE_TIMEOUT = 65_000;
/** Room for a token of 8,192 characters in a header and another in a cookie, bytes. */
const MAX_HEADER_SIZE = 32_768;
/** Room for 10,000 open streams; more connections are dropped. */
const MAX_CONNECTIONS = 16_384;
/** What answers of the last moment have to leave in when the server closes, ms. */
const FAREWELL = 1000;

export interface ServerParts {
  settings: Settings;
  store: Pick<Store, 'limits' | 'traces'>;
  tokens: TokenValidator;
  log: Log;
  clock: Clock;
  arrivals: Arrivals;
  channels: readonly ActiveChannel[];
  /** What the inbox knows of a platform that is out of reach; null: nothing. */
  outageOf?: OutageOf;
  /** ms that a request may take to arrive; for tests. */
  requestTimeout?: number;
}

export interface ListeningAddress {
  address: string;
  port: number;
  /** `http://127.0.0.1:8080` */
  url: string;
}

export interface Server {
  /** Rejects with the system's error where it cannot listen. @param port 0 takes a free one */
  listen(host: string, port: number): Promise<ListeningAddress>;
  /**
   * Ends open streams, refuses new requests (503) and waits for the running ones; it goes on listening. False
   * where `graceMs` passed with one unanswered: then nobody is listened to any more.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** The HTTP side of the daemon: what every request passes, in order. */
export function createServer(parts: ServerParts): Server {
  const { settings, store, log, clock } = parts;
  const inFlight = new InFlight();
  const streams = new AbortController();
  // One listener for each open stream.
  setMaxListeners(0, streams.signal);
  const app = new Koa<Exchange>();
  app.use(requestId(log));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(findRoute(createRouter(routes(parts.channels, parts.outageOf ?? (() => null), log))));
  app.use(cors(settings.WEBCHAT_ALLOWED_ORIGINS));
  app.use(admit(inFlight));
  app.use(
    answer({
      settings,
      clock,
      rateLimit: createRateLimit(parts),
      arrivals: parts.arrivals,
      refusals: new Refusals(store, clock, log),
      stopping: streams.signal,
      log,
    }),
  );
  // Nothing gets past `problems` but what a connection that broke tells of itself.
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection error'));

  const server = listener(app, log, parts.requestTimeout ?? REQUEST_TIMEOUT);
  answerBrokenRequests(server, inFlight, log);
  return {
    listen: (host, port) => listen(server, host, port, log),
    async drain(graceMs) {
      inFlight.drain();
      // Their readers come back, and find all they have missed (decisions §5).
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

function listener(app: Koa<Exchange>, log: Log, requestTimeout: number): HttpServer {
  const handle = app.callback();
  const server = createHttpServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: Math.min(requestTimeout, CHECKING_INTERVAL),
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
      maxHeaderSize: MAX_HEADER_SIZE,
      joinDuplicateHeaders: true,
      requireHostHeader: false,
    },
    handle,
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.once('drop', () =>
    log.warn({ connections: MAX_CONNECTIONS }, 'too many connections; some are dropped'),
  );
  // An expectation that is not understood may be left unmet (RFC 9110 §10.1.1); Node would refuse it by itself.
  server.on('checkExpectation', handle);
  return server;
}

function listen(server: HttpServer, host: string, port: number, log: Log): Promise<ListeningAddress> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(noSuchHost(error, host) ?? error);
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      server.on('error', (error) => log.error({ err: error }, 'a connection could not be taken'));
      resolve(addressOf(server.address() as AddressInfo));
    });
  });
}

/** A name that leads nowhere is a wrong setting; looked up from elsewhere, the same code means another's daemon. */
function noSuchHost({ code }: NodeJS.ErrnoException, host: string): ConfigurationError | null {
  if (code !== 'ENOTFOUND' && code !== 'EAI_AGAIN') return null;
  const problem = 'is neither an address of this machine, nor a name that leads to one';
  const right = '127.0.0.1, 0.0.0.0, or another address of this machine';
  return new ConfigurationError([{ setting: 'HOST', value: host, source: null, problem, right }]);
}

function addressOf({ address, port, family }: AddressInfo): ListeningAddress {
  return { address, port, url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
}

/** Resolves when the last connection has closed. A server that does not listen any more has nothing to stop. */
function stopListening(server: HttpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
