import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { buildConnector, Client, Dispatcher } from 'undici';
import type { TimeLimit } from '../../time/time-limit.ts';

interface HttpRequest {
  method: string;
  /** Each name is sent once, whatever its case: the last one counts. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if there is none. */
  body: string | Uint8Array | undefined;
  /** Whose data the answer may have. A connection is not used at once for another owner. */
  owner?: string | undefined;
  limit: Pick<TimeLimit, 'onEnd'>;
  /** Maximum size of the body of the answer, in bytes, as it arrives and after decompression. */
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  /** The phrase after the status; empty if there is none. */
  reason: string;
  headers: IncomingHttpHeaders;
  /** The body, decompressed: some servers compress answers without being asked to. */
  body: Buffer;
}

/** The statuses of an answer that names another address to ask. They are not followed here. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The body of the answer is longer than `maxBytes`. */
export class BodyTooLong extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the body of an answer ${status} is too long`);
    this.status = status;
  }
}

/**
 * Makes one HTTP request over a connection that is kept alive. It does not follow redirects. It needs a quarter of the
 * time of `fetch`. Rejects with the error of the connection, with BodyTooLong, or with the reason of the limit.
 */
export async function httpRequest(url: URL, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await attempt(url, request);
  } catch (error) {
    // If the server closed the kept connection just as the request was sent, a GET or HEAD request is repeated.
    if (!(error instanceof ConnectionClosed) || !['GET', 'HEAD'].includes(request.method)) throw error;
    return attempt(url, request);
  }
}

/** The codes of a connection that could not be made. */
const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether no connection was made, so that nothing was sent. An error of `fetch` has the code in its cause. */
export function wasNotConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const codes = [error, error.cause].map((one) => (one as NodeJS.ErrnoException | undefined)?.code);
  return codes.some((code) => code !== undefined && UNCONNECTED.has(code));
}

/** A kept connection broke before any byte of an answer had arrived. */
class ConnectionClosed extends Error {}

/** The codes of a connection that its other end has closed. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

async function attempt(
  { origin, pathname, search }: URL,
  { method, headers, body, owner, limit, maxBytes }: HttpRequest,
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let hasEnded = false;
  const forget = limit.onEnd((reason) => {
    hasEnded = true;
    reject(reason);
  });
  if (hasEnded) return promise as Promise<never>;
  const connection = connectionTo(origin, owner);
  const { isReused } = connection;
  const answer = new Answer(maxBytes, resolve, reject);
  try {
    const path = `${pathname}${search}`;
    const request = { path, method: method as Dispatcher.HttpMethod, headers: once(headers) };
    connection.client.dispatch({ ...request, body: body ?? null }, answer);
    await promise;
  } catch (error) {
    connection.end();
    const isClosed =
      isReused && answer.status === 0 && CLOSED.has((error as NodeJS.ErrnoException).code ?? '');
    throw isClosed ? new ConnectionClosed('a kept connection was closed', { cause: error }) : error;
  } finally {
    forget();
  }
  const { status, reason } = answer;
  // A gateway that gave up may still get the real answer, and pass it on.
  if (status >= 500 || status === 408) connection.end();
  else connection.keep();
  return { status, reason, headers: answer.headers, body: await answer.body() };
}

function once(headers: Readonly<Record<string, string>>): Record<string, string> {
  const byName: Record<string, string> = {};
  for (const name in headers) byName[name.toLowerCase()] = headers[name] as string;
  return byName;
}

/** After so many pieces, the pieces of an answer are joined: each takes about 100 bytes besides its content. */
const JOINED = 1024;

/** Collects an answer. */
class Answer implements Dispatcher.DispatchHandler {
  status = 0;
  reason = '';
  headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;
  readonly #maxBytes: number;
  readonly #ended: () => void;
  readonly #failed: (error: unknown) => void;

  constructor(maxBytes: number, ended: () => void, failed: (error: unknown) => void) {
    this.#maxBytes = maxBytes;
    this.#ended = ended;
    this.#failed = failed;
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders, reason = ''): void {
    // Called for an answer 1xx, too, before the answer that counts.
    this.status = status;
    this.reason = reason;
    this.headers = headers;
    for (const name of ONCE) if (Array.isArray(headers[name])) headers[name] = headers[name][0];
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#size += chunk.byteLength;
    if (this.#size > this.#maxBytes) this.#failed(new BodyTooLong(this.status));
    else if (this.#chunks.push(chunk) === JOINED) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  onResponseEnd(): void {
    this.#ended();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#failed(error);
  }

  async body(): Promise<Buffer> {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    const decode = DECODERS[String(this.headers['content-encoding']).toLowerCase()];
    if (decode === undefined || body.length === 0) return body;
    try {
      return await decode(body, { maxOutputLength: this.#maxBytes });
    } catch (error) {
      const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      throw isTooLong ? new BodyTooLong(this.status) : error;
    }
  }
}

/** Headers that are read, and of which an answer has only one: of several, the first counts, as for `node:http`. */
const ONCE = ['location', 'retry-after', 'content-encoding'] as const;

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip) as Decoder,
  'x-gzip': promisify(gunzip) as Decoder,
  deflate: promisify(inflate) as Decoder,
  br: promisify(brotliDecompress) as Decoder,
};

/** An idle connection is closed after this time, ms: sooner than most servers close it. */
const IDLE_MS = 4_000;
/** An idle connection is closed this long before the server said that it closes it, ms. */
const EARLIER_MS = 1_000;
/** Maximum number of idle connections that are kept to one origin. */
const IDLE_MAX = 64;
/**
 * How long a connection must have been idle before it is used for another owner, ms. HTTP/1.1 matches answers to
 * requests by their order only: if a server sends one answer too many, the next request would get the data of another
 * person. If it is read while the connection is idle, it ends the connection.
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
 * @param owner as in `HttpRequest`
 */
function connectionTo(origin: string, owner: string | undefined): KeptConnection {
  const others = idle.get(origin);
  const index = others?.findLastIndex((one) => one.isFreeFor(owner)) ?? -1;
  const connection = others?.splice(index, index < 0 ? 0 : 1)[0] ?? new KeptConnection(origin);
  connection.owner = owner;
  return connection;
}

/** A connection that makes one request at a time. */
class KeptConnection {
  readonly client: Client;
  /** Of its last request. */
  owner: string | undefined;
  readonly #origin: string;
  #socket: Socket | undefined;
  #hasAnswered = false;
  /** How often it has become idle. */
  #keeps = 0;
  /** Whether it was idle for so long that it may be used for another owner. */
  #isApart = false;
  #timer: NodeJS.Timeout | undefined;

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

  /** Whether an idle connection may be used for this owner now. */
  isFreeFor(owner: string | undefined): boolean {
    return owner === this.owner || this.#isApart;
  }

  /** Its request was answered completely: the connection is free for another. */
  keep(): void {
    this.#hasAnswered = true;
    this.#keeps++;
    this.#isApart = false;
    const others = idle.get(this.#origin) ?? [];
    if (this.#socket?.destroyed !== false || others.length >= IDLE_MAX) {
      this.end();
      return;
    }
    others.push(this);
    idle.set(this.#origin, others);
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#setApart(), APART_MS).unref();
  }

  /** If the process stood still, what has arrived meanwhile is read only after the timers and before the immediates. */
  #setApart(): void {
    const keeps = this.#keeps;
    setImmediate(() => {
      this.#isApart = this.#keeps === keeps;
    });
  }

  /** Ends the connection, also while it is being made. */
  end(): void {
    clearTimeout(this.#timer);
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
