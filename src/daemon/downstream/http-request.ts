import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** A free connection is closed after this time, ms: sooner than most servers close it. */
const IDLE_MS = 4_000;
/** Free connections that are kept to one origin. */
const IDLE_MAX = 64;

/** Loaded with the first request: an import would cost each start its time, also if no API is called. */
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

export interface HttpRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  body: string | undefined;
  signal: AbortSignal;
  /** A longer body is not read, in bytes after decompression. */
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  location: string | undefined;
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
 * One HTTP request over a kept connection. It follows no redirect. Node's own client takes half the time of `fetch`.
 * Rejects with the error of the connection, with BodyTooLong, or with the reason of the signal.
 */
export async function httpRequest(url: URL, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await attempt(url, request);
  } catch (error) {
    // The server closed the kept connection just as the request was sent.
    if (!(error instanceof ConnectionClosed) || !['GET', 'HEAD'].includes(request.method)) throw error;
    return attempt(url, request);
  }
}

/** A kept connection broke before any byte of an answer had come. */
class ConnectionClosed extends Error {}

function attempt(url: URL, { method, headers, body, signal, maxBytes }: HttpRequest): Promise<HttpResponse> {
  clients ??= createClients();
  const { request, agent } = url.protocol === 'https:' ? clients.https : clients.http;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options: RequestOptions = { method, headers: { ...headers, ...length }, agent };
    const sent = request(url, options, (response) => {
      readText(response, maxBytes).then(
        (text) => {
          signal.removeEventListener('abort', abort);
          resolve({ status: response.statusCode ?? 0, location: response.headers.location, text });
        },
        (error: unknown) => {
          sent.destroy();
          fail(error);
        },
      );
    });
    const abort = () => {
      sent.destroy();
      fail(signal.reason);
    };
    const fail = (error: unknown) => {
      signal.removeEventListener('abort', abort);
      reject(error);
    };
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isClosed = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      fail(isClosed ? new ConnectionClosed('a kept connection was closed', { cause: error }) : error);
    });
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    sent.end(body);
  });
}

function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const body = decoded(response);
  const chunks: Buffer[] = [];
  let size = 0;
  // Events, since an iterator costs as much as the rest of reading.
  return new Promise((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > maxBytes) reject(new BodyTooLong(response.statusCode ?? 0));
      else chunks.push(chunk);
    });
    body.on('end', () => {
      const [first] = chunks;
      resolve((chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString('utf8'));
    });
    body.on('error', reject);
    body.on('close', () => reject(new Error('the answer broke off')));
  });
}

/** Some servers compress what nobody asked them to. */
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
