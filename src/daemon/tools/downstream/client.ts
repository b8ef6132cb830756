import type { PersonKey } from '../../identity/identity.ts';
import { maskEchoed } from '../../settings/mask-secrets.ts';
import type { Secret } from '../../settings/secret.ts';
import { nestsDeeper, parseExactly } from '../../syntax/json.ts';
import { systemClock } from '../../time/clock.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import { BEARER, type CredentialForm, credentialHeader, credentialValue } from './credential-form.ts';
import type { EncodedBody } from './form-body.ts';
import { shownHeaders } from './headers.ts';
import { BodyTooLong, type HttpResponse, httpRequest, REDIRECTS, wasNotConnected } from './http-request.ts';
import { findPathProblem } from './safe-path.ts';

/** Maximum size of an answer, in bytes after decompression. */
export const MAX_RESPONSE_BYTES = 1_048_576;
/**
 * Maximum nesting depth of JSON. Parsing an answer with 500,000 levels would hold up all requests for a second. A deeper
 * answer counts as one that is not JSON.
 */
const MAX_DEPTH = 1_000;
const MAX_REDIRECTS = 3;

/**
 * The HTTP client of one downstream system (agentd-api(7), "Requests to the API"). It sends requests to one origin
 * only, so that a token cannot be sent to any other origin.
 */
export interface Downstream {
  /**
   * Resolves with the answer of the API, whatever its status. Rejects with `DownstreamFailure` if there is no usable
   * answer, and with the signal's reason if the caller's signal aborted.
   */
  send(request: DownstreamRequest): Promise<DownstreamResponse>;
}

export interface ToolRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /**
   * The percent-encoded path below the base URL of the source, with a leading slash. A segment that is empty, `.` or
   * `..` is refused, even if a server reads it so only after decoding it again.
   */
  path: string;
  /** Whether a segment of the path may contain an encoded slash or backslash. Default: it is refused. */
  allow_slash?: boolean;
  /** The query parameters in order. The client percent-encodes them. */
  query?: readonly (readonly [name: string, value: string])[];
  /** The whole query instead of `query`, already percent-encoded, without the question mark. */
  search?: string;
  /** Headers of the daemon and of the connection (headers.ts) and fixed headers of the source are refused. */
  headers?: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. If absent, there is no body. */
  body?: unknown;
  /** Media type of the body, which must be a JSON format. Default: `application/json`. */
  content_type?: string;
  /** A body of another format, instead of `body`. */
  encoded?: EncodedBody;
}

interface DownstreamRequest extends ToolRequest {
  /** The credential; null to send none. */
  token: Secret | null;
  /** Whose data the answer may have, also if the token is not this person's. */
  person?: PersonKey | null;
  /** Where the credential is sent. Default: as a bearer token. */
  credential?: CredentialForm;
  /** Other secrets in the request. Like the token, they are masked in the answer. */
  secrets?: readonly Secret[];
  /**
   * `within_origin` (the default): a redirect of a GET within the origin is followed, and any other redirect is a
   * failure. `none`: every redirect is a failure.
   */
  redirects?: 'within_origin' | 'none';
  /** `text`: an answer that is not JSON is returned as a text. */
  expects?: 'json' | 'text';
  /** The signal of the message for which the call is made. */
  signal?: AbortSignal | undefined;
}

export interface DownstreamResponse {
  status: number;
  /** The parsed JSON. Null if the body is empty, or if the body of a failure is not JSON and no text is expected. */
  body: unknown;
  /** The headers that an agent may need (headers.ts), without the secrets of the request. Absent if there is none. */
  headers?: Readonly<Record<string, string>>;
}

type DownstreamReason =
  | 'timeout'
  | 'unreachable'
  | 'redirect_refused'
  | 'too_large'
  | 'not_json'
  | 'path_refused'
  | 'credential_refused';

/** There is no usable answer. `message` is a text for the agent; `cause` is for the log. */
export class DownstreamFailure extends Error {
  readonly reason: DownstreamReason;
  /** Whether the API may have carried out the request. */
  readonly reached: boolean;
  /** Status of the unusable answer; null if there was no answer. */
  readonly status: number | null;

  constructor(
    reason: DownstreamReason,
    message: string,
    {
      reached = true,
      status = null,
      cause,
    }: { reached?: boolean; status?: number | null; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'DownstreamFailure';
    this.reason = reason;
    this.reached = reached;
    this.status = status;
  }
}

interface DownstreamOptions {
  /** May have a path prefix, which is added to all paths. */
  baseUrl: string;
  /** Timeout of one request, including redirects and reading the answer. */
  timeoutMs: number;
  /** The name of the system in messages to the agent. Default: `The business API`. */
  system?: string;
  /** Called with the status of each answer, or the failure. Not called for a request that the caller aborted. */
  ended?: (status: number | string, seconds: number) => void;
}

/** Failures of requests that are refused before they are made. They are not reported as ended. */
const NEVER_MADE: readonly DownstreamReason[] = ['path_refused', 'credential_refused'];

/** Created once for each system. Its connections are kept alive (http-request.ts). */
export function createDownstream(options: DownstreamOptions): Downstream {
  const { baseUrl, timeoutMs, system = 'The business API', ended } = options;
  return {
    async send(request) {
      const began = performance.now();
      const end = (status: number | string) => ended?.(status, (performance.now() - began) / 1000);
      // The signals are not combined, because that would be a large part of the cost of a request.
      const limit = new TimeLimit(systemClock, timeoutMs, request.signal ? [request.signal] : []);
      try {
        const response = await follow(buildUrl(baseUrl, request), request, system, limit);
        const { status } = response;
        const secrets = secretsIn(request);
        const headers = shownHeaders(response.headers, (text) => maskEchoed(text, secrets));
        const body = parse(maskEchoed(response.body.toString('utf8'), secrets), status, request, system);
        end(status);
        return { status, body, ...(headers === undefined ? {} : { headers }) };
      } catch (error) {
        request.signal?.throwIfAborted();
        const failure = asFailure(error, system, limit.passed);
        if (!NEVER_MADE.includes(failure.reason)) end(failure.status ?? failure.reason);
        throw failure;
      } finally {
        limit.lift();
      }
    },
  };
}

function asFailure(error: unknown, system: string, isLate: boolean): DownstreamFailure {
  if (error instanceof DownstreamFailure) return error;
  if (error instanceof BodyTooLong)
    return new DownstreamFailure('too_large', `${system} answered with more data than can be used.`, {
      status: error.status,
    });
  if (isLate) return new DownstreamFailure('timeout', `${system} did not answer in time.`, { cause: error });
  return new DownstreamFailure('unreachable', `${system} cannot be reached.`, {
    reached: !wasNotConnected(error),
    cause: error,
  });
}

/**
 * The address of a request below the base URL of its system.
 * @throws DownstreamFailure if the path could lead out of the base URL.
 */
export function buildUrl(
  baseUrl: string,
  {
    path,
    allow_slash = false,
    search,
    query,
  }: Pick<ToolRequest, 'path' | 'allow_slash' | 'search' | 'query'>,
): URL {
  const problem = findPathProblem(path, allow_slash);
  if (problem !== null)
    throw new DownstreamFailure('path_refused', `The request was not sent, because its path ${problem}.`, {
      reached: false,
    });
  const base = new URL(baseUrl);
  const url = new URL(base.origin);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`;
  if (search !== undefined) url.search = search;
  for (const [name, value] of query ?? []) url.searchParams.append(name, value);
  return url;
}

/** Redirects are handled here, since only those of a GET within the origin may be followed. */
async function follow(
  first: URL,
  request: DownstreamRequest,
  system: string,
  limit: TimeLimit,
): Promise<HttpResponse> {
  const headers: Record<string, string> = { accept: 'application/json', ...request.headers };
  Object.assign(headers, buildCredential(request));
  const { method } = request;
  const encoded = encodedBody(request);
  if (encoded !== undefined) headers['content-type'] = encoded.content_type;
  const body = encoded?.content;
  const owner = JSON.stringify([request.token?.reveal(), request.person]);
  const hopsMax = request.redirects === 'none' || method !== 'GET' ? 0 : MAX_REDIRECTS;
  let url = first;
  for (let hops = 0; ; hops++) {
    const maxBytes = MAX_RESPONSE_BYTES;
    const response = await httpRequest(url, { method, headers, body, owner, limit, maxBytes });
    if (!REDIRECTS.has(response.status)) return response;
    const { location } = response.headers;
    const next = location !== undefined && URL.canParse(location, url.href) ? new URL(location, url) : null;
    if (hops === hopsMax || next?.origin !== first.origin)
      throw new DownstreamFailure(
        'redirect_refused',
        `${system} answered with a redirect that is not followed.`,
        { status: response.status },
      );
    url = next;
  }
}

function buildCredential({ token, credential = BEARER }: DownstreamRequest): Record<string, string> {
  if (token === null) return {};
  const value = credentialValue(credential, token);
  if (value === null)
    throw new DownstreamFailure('credential_refused', 'The sign-in cannot be sent to this system.', {
      reached: false,
    });
  return { [credentialHeader(credential)]: value };
}

function encodedBody({
  body,
  content_type = 'application/json',
  encoded,
}: DownstreamRequest): Omit<EncodedBody, 'shown'> | undefined {
  return body === undefined ? encoded : { content_type, content: JSON.stringify(body) };
}

function secretsIn({ token, secrets = [] }: DownstreamRequest): readonly Secret[] {
  return token && !secrets.includes(token) ? [token, ...secrets] : secrets;
}

/** @param masked the body, masked before it is parsed, since a secret may also be in the name of a member */
function parse(
  masked: string,
  status: number,
  { expects = 'json' }: DownstreamRequest,
  system: string,
): unknown {
  if (masked.trim() === '') return null;
  try {
    if (nestsDeeper(masked, MAX_DEPTH)) throw new RangeError('too deep');
    return parseExactly(masked);
  } catch {
    if (expects === 'text') return masked;
    // This may be the error page of a proxy in front of the API, so only the status matters.
    if (status < 200 || status >= 300) return null;
    // Without the error of the parser as its cause, which quotes the answer: that may be a person's data.
    throw new DownstreamFailure('not_json', `${system} answered with something that is not JSON.`, {
      status,
    });
  }
}
