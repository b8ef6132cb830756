import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type Koa from 'koa';
import type { Log } from '../log.ts';
import { createServer as createHttpServer } from '../node-http.ts';
import { ConfigurationError } from '../settings/problem.ts';
import type { Exchange } from './exchange.ts';

/** A request must have arrived whole within this time, ms. */
const REQUEST_TIMEOUT = 30_000;
/** How often connections are looked at for that, ms. */
const CHECKING_INTERVAL = 5000;
/** Room for a token of 8,192 characters in a header and another in a cookie, bytes. */
const MAX_HEADER_SIZE = 32_768;
/** Room for 10,000 open streams; more connections are dropped. */
const MAX_CONNECTIONS = 16_384;

export interface ListenerOptions {
  /** KEEP_ALIVE_SECONDS */
  keepAliveSeconds: number;
  /** ms that a request may take to arrive; for tests. */
  requestTimeout?: number | undefined;
}

export interface ListeningAddress {
  address: string;
  port: number;
  /** `http://127.0.0.1:8080` */
  url: string;
}

/** Where a server listens, and the setting that says so. */
export interface ListenTarget {
  /** Undefined: every address of the machine. */
  host: string | undefined;
  /** 0 takes a free one. */
  port: number;
  setting: 'HOST' | 'ADMIN_LISTEN';
}

/** A server of Node for an application, with bounds on what a client may send, and how slowly. */
export function createListener(
  app: Koa<Exchange>,
  log: Log,
  { keepAliveSeconds, requestTimeout = REQUEST_TIMEOUT }: ListenerOptions,
): HttpServer {
  const handle = app.callback();
  const server = createHttpServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: Math.min(requestTimeout, CHECKING_INTERVAL),
      keepAliveTimeout: keepAliveSeconds * 1000,
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

/** Rejects with the system's error if the server cannot listen there. */
export function listen(server: HttpServer, target: ListenTarget, log: Log): Promise<ListeningAddress> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(unknownHost(error, target) ?? error);
    server.once('error', refuse);
    server.listen({ port: target.port, ...(target.host === undefined ? {} : { host: target.host }) }, () => {
      server.off('error', refuse);
      server.on('error', (error) => log.error({ err: error }, 'a connection could not be taken'));
      resolve(addressOf(server.address() as AddressInfo));
    });
  });
}

/** Takes no more connections; those that are open stay. Resolves when the last one has closed. */
export function stopAccepting(server: HttpServer): Promise<void> {
  // The server of HTTP would close idle connections, on which a proxy may be sending a request at this moment.
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));
}

/** Resolves when the last connection has closed; at once for a server that does not listen. */
export function stopListening(server: HttpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A name that does not resolve is a wrong setting. For a client, the same code means a daemon that is out of reach. */
function unknownHost(
  { code }: NodeJS.ErrnoException,
  { host = '', setting }: ListenTarget,
): ConfigurationError | null {
  if (code !== 'ENOTFOUND' && code !== 'EAI_AGAIN') return null;
  const problem = 'is neither an address of this machine, nor a name that leads to one';
  const right = '127.0.0.1, 0.0.0.0, or another address of this machine';
  return new ConfigurationError([{ setting, value: host, source: null, problem, right }]);
}

function addressOf({ address, port, family }: AddressInfo): ListeningAddress {
  return { address, port, url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
}
