import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { TimeLimit } from '../../time/time-limit.ts';
import { connectionTo } from './kept-connections.ts';

interface HttpRequest {
  method: string;
  /** Each name is sent once, whatever its case: the last one counts. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if there is none. */
  body: string | Uint8Array | undefined;
  /** What the request carries of a person. A connection is not used at once for another credential. */
  credential?: string | undefined;
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
  { method, headers, body, credential, limit, maxBytes }: HttpRequest,
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let hasEnded = false;
  const forget = limit.onEnd((reason) => {
    hasEnded = true;
    reject(reason);
  });
  if (hasEnded) return promise as Promise<never>;
  const connection = connectionTo(origin, credential);
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
