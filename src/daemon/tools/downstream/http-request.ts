import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { TimeLimit } from '../../time/time-limit.ts';

/** An idle connection is closed after this time, ms: sooner than most servers close it. */
const IDLE_MS = 4_000;
/** Maximum number of idle connections that are kept to one origin. */
const IDLE_MAX = 64;

/** Loaded with the first request: an import would slow down each start, even if no API is called. */
let clients: ReturnType<typeof createClients> | undefined;

function createClients() {
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const options = {
    keepAlive: true,
    maxFreeSockets: IDLE_MAX,
    timeout: IDLE_MS,
    scheduling: 'lifo',
  } as const;
  return {
    http: { request: http.request, agent: new http.Agent(options) },
    https: { request: https.request, agent: new https.Agent(options) },
  };
}

interface HttpRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined if there is none. */
  body: string | Uint8Array | undefined;
  limit: Pick<TimeLimit, 'onEnd'>;
  /** Maximum size of the body of the answer, in bytes after decompression. */
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** The body of the answer is longer than `maxBytes`. */
export class BodyTooLong extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the body of an answer ${status} is too long`);
    this.status = status;
  }
}

/**
 * Makes one HTTP request over a connection that is kept alive. It does not follow redirects. It uses `node:http`, which
 * needs half the time of `fetch`. Rejects with the error of the connection, with BodyTooLong, or with the reason of the
 * limit.
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

/** A kept connection broke before any byte of an answer had arrived. */
class ConnectionClosed extends Error {}

function attempt(url: URL, { method, headers, body, limit, maxBytes }: HttpRequest): Promise<HttpResponse> {
  clients ??= createClients();
  const { request, agent } = url.protocol === 'https:' ? clients.https : clients.http;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { ...toRequestOptions(url), method, headers: { ...headers, ...length }, agent };
    const sent = request(options, (response) => {
      readText(response, maxBytes).then(
        (text) => {
          forget();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        },
        (error: unknown) => {
          sent.destroy();
          fail(error);
        },
      );
    });
    const fail = (error: unknown) => {
      forget();
      reject(error);
    };
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isClosed = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      fail(isClosed ? new ConnectionClosed('a kept connection was closed', { cause: error }) : error);
    });
    const forget = limit.onEnd((reason) => {
      sent.destroy();
      reject(reason);
    });
    if (!sent.destroyed) sent.end(body);
  });
}

/** The same options that Node makes from a URL, at a fraction of the cost. */
function toRequestOptions({ protocol, hostname, port, pathname, search }: URL): RequestOptions {
  return {
    protocol,
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    ...(port === '' ? {} : { port }),
    path: `${pathname}${search}`,
  };
}

function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const body = decoded(response);
  const chunks: Buffer[] = [];
  let size = 0;
  // Uses events, since an async iterator would cost as much as everything else here.
  return new Promise((resolve, reject) => {
    let isRead = false;
    body.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > maxBytes) reject(new BodyTooLong(response.statusCode ?? 0));
      else chunks.push(chunk);
    });
    body.on('end', () => {
      isRead = true;
      const [first] = chunks;
      resolve((chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString('utf8'));
    });
    body.on('error', reject);
    body.on('close', () => {
      // The error is created only if it is needed. Its stack trace is expensive, and most answers are complete when the
      // stream closes.
      if (!isRead) reject(new Error('the answer was cut off'));
    });
  });
}

/** The body of an answer, decompressed. Some servers compress answers without being asked to. */
function decoded(response: IncomingMessage): Readable {
  const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  const decoder = decoders[response.headers['content-encoding']?.toLowerCase() ?? '']?.();
  if (!decoder) return response;
  response.on('error', (error) => (decoder as unknown as Readable).destroy(error));
  return response.pipe(decoder) as unknown as Readable;
}
