import { systemClock } from '../clock.ts';
import type { Secret } from '../secret.ts';
import { TimeLimit } from '../time-limit.ts';

/** The largest answer that is read, in bytes after decompression. */
export const MAX_RESPONSE_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
/** A shorter secret, which no real API issues, may be a word of the answer by chance. */
const MASKED_SECRET_LENGTH = 8;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
/** A segment `.` or `..`, also percent-encoded. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)/i;

/**
 * The HTTP client of one downstream system (agentd-api(7), "Requests to the API"). It speaks to one origin only: a token
 * that is handed in can leave to no other.
 */
export interface Downstream {
  /**
   * Resolves with whatever status the API answers. Rejects with `DownstreamFailure` if there is no usable answer, and
   * with the signal's reason if the caller's signal aborted.
   */
  send(request: DownstreamRequest): Promise<DownstreamResponse>;
}

export interface DownstreamRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** Below the base URL, with a leading slash. */
  path: string;
  query?: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
  /** The whole query in place of `query`, already percent-encoded, without the question mark. */
  search?: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Of the body. Default: `application/json`. */
  content_type?: string;
  /** Sent as the bearer; null sends none. */
  token: Secret | null;
  /** Other secrets that the request carries: like the token, they are masked in the answer. */
  secrets?: readonly Secret[];
  /** Redirects of a GET within the origin are followed; any other redirect is a failure. */
  redirects?: 'within_origin' | 'none';
  /** `text`: an answer that is not JSON is handed on as a text. */
  expects?: 'json' | 'text';
  /** Aborts with the message that the call is made for. */
  signal?: AbortSignal | undefined;
}

export interface DownstreamResponse {
  status: number;
  /** The parsed JSON; null if the body is empty, or a failure's body is no JSON and no text is expected. */
  body: unknown;
}

export type DownstreamReason =
  | 'timeout'
  | 'unreachable'
  | 'redirect_refused'
  | 'too_large'
  | 'not_json'
  | 'path_refused';

/** There is no usable answer. `message` is in words that an agent can use; `cause` is for the log. */
export class DownstreamFailure extends Error {
  readonly reason: DownstreamReason;
  /** The request may have been carried out. */
  readonly reached: boolean;

  constructor(
    reason: DownstreamReason,
    message: string,
    { reached = true, cause }: { reached?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DownstreamFailure';
    this.reason = reason;
    this.reached = reached;
  }
}

export interface DownstreamOptions {
  /** May have a path prefix, below which all paths lie. */
  baseUrl: string;
  /** For one request in all: redirects and reading included. */
  timeoutMs: number;
  /** The subject of messages to the agent. Default: `The business API`. */
  system?: string;
}

/** Made once; connections are kept alive by the pool of the global `fetch`. */
export function createDownstream({
  baseUrl,
  timeoutMs,
  system = 'The business API',
}: DownstreamOptions): Downstream {
  return {
    async send(request) {
      const url = addressOf(baseUrl, request);
      // Signals that are combined cost a good part of a request.
      const limit = new TimeLimit(systemClock, timeoutMs, ...(request.signal ? [request.signal] : []));
      try {
        const response = await follow(url, request, system, limit.signal);
        const text = await readBounded(response, system);
        return { status: response.status, body: parse(text, response.ok, request, system) };
      } catch (error) {
        request.signal?.throwIfAborted();
        if (error instanceof DownstreamFailure) throw error;
        if (limit.passed)
          throw new DownstreamFailure('timeout', `${system} did not answer in time.`, { cause: error });
        throw new DownstreamFailure('unreachable', `${system} cannot be reached.`, {
          reached: !wasNotConnected(error),
          cause: error,
        });
      } finally {
        limit.lift();
      }
    },
  };
}

/** @throws DownstreamFailure if the path could lead out of the base URL. */
export function addressOf(
  baseUrl: string,
  { path, search, query: given = {} }: Pick<DownstreamRequest, 'path' | 'search' | 'query'>,
): URL {
  const base = new URL(baseUrl);
  const url = new URL(base.origin);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`;
  // The URL parser resolves dot segments, drops tabs and newlines, and reads a backslash as a slash.
  if (!path.startsWith('/') || /[\\\s\x00-\x1f]|\/\//.test(path) || DOT_SEGMENT.test(path)) {
    throw new DownstreamFailure('path_refused', 'The address of this call is not valid.', { reached: false });
  }
  if (search !== undefined) url.search = search;
  const query = Array.isArray(given) ? given : Object.entries(given);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

/** Redirects are followed by hand, since a GET may be led on within the origin only, and nothing else at all. */
async function follow(
  first: URL,
  request: DownstreamRequest,
  system: string,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers({ accept: 'application/json', ...request.headers });
  if (request.token) headers.set('authorization', `Bearer ${request.token.reveal()}`);
  if (request.body !== undefined) headers.set('content-type', request.content_type ?? 'application/json');
  const init: RequestInit = { method: request.method, headers, redirect: 'manual', signal };
  if (request.body !== undefined) init.body = JSON.stringify(request.body);
  const hopsMax = request.redirects === 'none' || request.method !== 'GET' ? 0 : MAX_REDIRECTS;
  let url = first;
  for (let hops = 0; ; hops++) {
    const response = await fetch(url, init);
    if (!REDIRECT_STATUSES.has(response.status)) return response;
    const location = response.headers.get('location');
    await response.body?.cancel();
    const next = location !== null && URL.canParse(location, url.href) ? new URL(location, url) : null;
    if (hops === hopsMax || next?.origin !== first.origin)
      throw new DownstreamFailure(
        'redirect_refused',
        `${system} answered with a redirect that is not followed.`,
      );
    url = next;
  }
}

/** No connection was made, so nothing was sent. */
function wasNotConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return (
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
  );
}

/** @throws DownstreamFailure if it is larger than `MAX_RESPONSE_BYTES`. */
export async function readBounded(response: Response, system: string): Promise<string> {
  // The HTTP parser holds a body to its length, if it is not compressed. Reading it at once is twice as fast.
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length <= MAX_RESPONSE_BYTES && !response.headers.has('content-encoding')) return response.text();
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by the throw cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_RESPONSE_BYTES)
      throw new DownstreamFailure('too_large', `${system} answered with more data than can be used.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Replaces what an API echoes of the secrets that it was sent, so that they do not reach the agent. */
export function maskSecrets(text: string, secrets: readonly Secret[]): string {
  let masked = text;
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value.length >= MASKED_SECRET_LENGTH && value.length <= masked.length)
      masked = masked.replaceAll(value, '[token]');
  }
  return masked;
}

function parse(
  text: string,
  ok: boolean,
  { token, secrets = [], expects = 'json' }: DownstreamRequest,
  system: string,
): unknown {
  if (text.trim() === '') return null;
  // Masked before it is parsed, since a secret may also be in a name.
  const masked = maskSecrets(text, token && !secrets.includes(token) ? [token, ...secrets] : secrets);
  try {
    return JSON.parse(masked);
  } catch (cause) {
    if (expects === 'text') return masked;
    // The page of a proxy in front of a failing API; its status says all that counts.
    if (!ok) return null;
    throw new DownstreamFailure('not_json', `${system} answered with something that is not JSON.`, { cause });
  }
}
