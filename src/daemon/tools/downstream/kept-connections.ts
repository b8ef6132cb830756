import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { buildConnector, Client } from 'undici';

/** An idle connection is closed after this time, ms: sooner than most servers close it. */
const IDLE_MS = 4_000;
/** An idle connection is closed this long before the server said that it closes it, ms. */
const EARLIER_MS = 1_000;
/** Maximum number of idle connections that are kept to one origin. */
const IDLE_MAX = 64;
/**
 * How long a connection must have been idle before it is used for another credential, ms. HTTP/1.1 matches answers to
 * requests by their order only: if a server sends one answer too many, the next request would get the data of another
 * person. On an idle connection, it ends the connection.
 */
const APART_MS = 100;

/** Loaded with the first request: an import would slow down each start, even if no API is called. */
let library: ReturnType<typeof loadLibrary> | undefined;

/**
 * Loads these modules only: the main module would also replace the connections of the global `fetch`. Their paths are
 * not part of the public interface, so package.json names one exact version: the last major for Node.js 22.18.
 */
function loadLibrary() {
  const require = createRequire(import.meta.url);
  const connector = require('undici/lib/core/connect.js') as typeof buildConnector;
  // The client would load its parser with its first connection. An upgrade may have replaced the parser by then.
  require('undici/lib/llhttp/llhttp_simd-wasm.js');
  return {
    Client: require('undici/lib/dispatcher/client.js') as typeof Client,
    // All connections share it, so that they share the sessions of TLS. Only the limit of a request ends a connecting.
    connect: connector({ timeout: 0, allowH2: false }),
  };
}

/** The idle connections to each origin. The one that was used last is used first, so that the others can end. */
const idle = new Map<string, KeptConnection[]>();

/**
 * A connection for one request: a kept one, or a new one.
 * @param credential what the request carries of a person; undefined if there is nothing
 */
export function connectionTo(origin: string, credential: string | undefined): KeptConnection {
  const others = idle.get(origin);
  const index = others?.findLastIndex((one) => one.isFreeFor(credential)) ?? -1;
  const connection = others?.splice(index, index < 0 ? 0 : 1)[0] ?? new KeptConnection(origin);
  connection.credential = credential;
  return connection;
}

/** A connection that makes one request at a time. */
class KeptConnection {
  readonly client: Client;
  /** Of its last request. */
  credential: string | undefined;
  readonly #origin: string;
  #socket: Socket | undefined;
  #hasAnswered = false;
  #idle_since = 0;

  constructor(origin: string) {
    library ??= loadLibrary();
    const { Client, connect } = library;
    this.#origin = origin;
    this.client = new Client(origin, {
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: EARLIER_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: (options, callback) => {
        this.#socket = connect(options, callback) as unknown as Socket;
        return this.#socket;
      },
    });
    this.client.on('disconnect', () => this.#leave());
  }

  /** Whether its next request uses a connection that has answered before, and that its server may just be closing. */
  get isReused(): boolean {
    return this.#hasAnswered && this.#socket?.destroyed === false;
  }

  /** Whether an idle connection may be used for this credential now. */
  isFreeFor(credential: string | undefined): boolean {
    return credential === this.credential || performance.now() - this.#idle_since >= APART_MS;
  }

  /** Its request was answered completely: the connection is free for another. */
  keep(): void {
    this.#hasAnswered = true;
    this.#idle_since = performance.now();
    const others = idle.get(this.#origin);
    if (this.#socket?.destroyed !== false || (others?.length ?? 0) >= IDLE_MAX) this.end();
    else if (others) others.push(this);
    else idle.set(this.#origin, [this]);
  }

  /** Ends the connection, also while it is being made. */
  end(): void {
    void this.client.destroy();
    this.#socket?.destroy();
  }

  #leave(): void {
    const others = idle.get(this.#origin);
    const index = others?.indexOf(this) ?? -1;
    if (index < 0) return;
    others?.splice(index, 1);
    if (others?.length === 0) idle.delete(this.#origin);
    this.end();
  }
}
