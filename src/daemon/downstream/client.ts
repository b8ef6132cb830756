import type { Secret } from '../secret.ts';

/** The largest answer that is read, in bytes after decompression. */
export const MAX_RESPONSE_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
/** A shorter token, which no real API issues, may be a word of the answer by chance. */
const MASKED_TOKEN_LENGTH = 8;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/**
 * The HTTP client of the downstream business API (agentd-api(7), "Requests to the API"). It speaks to one origin only:
 * a token that is handed in can leave to no other.
 */
export interface Downstream {
  /**
   * Resolves with whatever status the API answers. Rejects with `DownstreamFailure` where there is no usable
   * answer, and with the signal's reason where the caller's signal aborted.
   */
  send(request: DownstreamRequest): Promise<DownstreamResponse>;
}

export interface DownstreamRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `API_BASE_URL`, with a leading slash. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as the bearer; null sends none. */
  token: Secret | null;
  /** Aborts with the message that the call is made for. */
  signal?: AbortSignal | undefined;
}

export interface DownstreamResponse {
  status: number;
  /** The parsed JSON; null where the body is empty, or a failure's body is no JSON. */
  body: unknown;
}

export type DownstreamReason = 'timeout' | 'unreachable' | 'redirect_refused' | 'too_large' | 'not_json';

/** There is no usable answer. `message` is in words that an agent can use; `cause` is for the log. */
export class DownstreamFailure extends Error {
  readonly reason: DownstreamReason;

  constructor(reason: DownstreamReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DownstreamFailure';
    this.reason = reason;
  }
}

export interface DownstreamOptions {
  /** `API_BASE_URL`; may have a path prefix, below which all paths lie. */
  baseUrl: string;
  /** For one request in all: redirects and reading included. */
  timeoutMs: number;
}

/** Made once; connections are kept alive by the pool of the global `fetch`. */
export function createDownstream({ baseUrl, timeoutMs }: DownstreamOptions): Downstream {
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  return {
    async send(request) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
      try {
        const response = await follow(addressOf(request, base.origin, prefix), request, signal);
        return {
          status: response.status,
          body: parse(await readBounded(response), response.ok, request.token),
        };
      } catch (error) {
        request.signal?.throwIfAborted();
        if (error instanceof DownstreamFailure) throw error;
        if (timeout.aborted) {
          throw new DownstreamFailure('timeout', 'The business API did not answer in time.', {
            cause: error,
          });
        }
        throw new DownstreamFailure('unreachable', 'The business API cannot be reached.', { cause: error });
      }
    },
  };
}

function addressOf(request: DownstreamRequest, origin: string, prefix: string): URL {
  const url = new URL(origin);
  url.pathname = `${prefix}${request.path}`;
  // Dot segments would climb out of the prefix.
  if (!url.pathname.startsWith(`${prefix}/`))
    throw new TypeError(`path outside of API_BASE_URL: ${request.path}`);
  for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value);
  return url;
}

/** Redirects are followed by hand, since a GET may be led on within the origin only, and nothing else at all. */
async function follow(first: URL, request: DownstreamRequest, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (request.token) headers.authorization = `Bearer ${request.token.reveal()}`;
  if (request.body !== undefined) headers['content-type'] = 'application/json';
  const init: RequestInit = { method: request.method, headers, redirect: 'manual', signal };
  if (request.body !== undefined) init.body = JSON.stringify(request.body);
  let url = first;
  for (let hops = 0; ; hops++) {
    const response = await fetch(url, init);
    if (!REDIRECT_STATUSES.has(response.status)) return response;
    const location = response.headers.get('location');
    await response.body?.cancel();
    const next = location !== null && URL.canParse(location, url.href) ? new URL(location, url) : null;
    if (request.method !== 'GET' || hops === MAX_REDIRECTS || next?.origin !== first.origin) {
      throw new DownstreamFailure(
        'redirect_refused',
        'The business API answered with a redirect that is not followed.',
      );
    }
    url = next;
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by the throw cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_RESPONSE_BYTES) {
      throw new DownstreamFailure('too_large', 'The business API answered with more data than can be used.');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** An API that echoes the request must not hand its token to the agent, so it is masked before parsing. */
function parse(text: string, ok: boolean, token: Secret | null): unknown {
  if (text.trim() === '') return null;
  const bearer = token?.reveal() ?? '';
  const masked = bearer.length >= MASKED_TOKEN_LENGTH ? text.replaceAll(bearer, '[token]') : text;
  try {
    return JSON.parse(masked);
  } catch (cause) {
    // The page of a proxy that stands in for a failing API; its status says all that counts.
    if (!ok) return null;
    throw new DownstreamFailure('not_json', 'The business API answered with something that is not JSON.', {
      cause,
    });
  }
}
