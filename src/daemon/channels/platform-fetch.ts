import { addLazyMember } from '../syntax/lazy-member.ts';
import { systemClock } from '../time/clock.ts';
import { TimeLimit } from '../time/time-limit.ts';
import { type HttpResponse, httpRequest, REDIRECTS } from '../tools/downstream/http-request.ts';

/** Timeout of a channel's own calls, ms. */
const TIMEOUT_MS = 10_000;
/** Maximum size of an answer to an API call, bytes. */
const ANSWER_MAX = 16_777_216;

/**
 * `ChannelScope.fetch`: the global `fetch` with a timeout. API calls, which are most requests, are made over the
 * connections of tools, because the global `fetch` takes three times as long. Their answers are read before the promise
 * resolves.
 */
export const platformFetch: typeof fetch = async (input, init = {}) => {
  const url = input instanceof Request ? null : new URL(input);
  if (url === null || !isApiCall(url, init))
    return fetch(input, { signal: AbortSignal.timeout(TIMEOUT_MS), ...init });
  const limit = init.signal ? limitedBy(init.signal) : new TimeLimit(systemClock, TIMEOUT_MS);
  try {
    return toResponse(await httpRequest(url, { ...toRequest(init), limit, maxBytes: ANSWER_MAX }), url, init);
  } catch (error) {
    if (limit.hasEnded) throw error;
    throw new TypeError('fetch failed', { cause: error });
  } finally {
    limit.lift();
  }
};

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const MEMBERS = new Set(['method', 'headers', 'body', 'redirect', 'signal']);
/** Whether the global `fetch` sends its requests through a proxy. */
const HAS_PROXY =
  process.env.NODE_USE_ENV_PROXY === '1' ||
  [...process.execArgv, process.env.NODE_OPTIONS].some((option) => option?.includes('--use-env-proxy'));

/** Whether a request sends at most a text and does not follow redirects, so that it needs nothing else of `fetch`. */
function isApiCall({ protocol, username, password }: URL, init: RequestInit): boolean {
  const { method = 'GET', body = null, redirect } = init;
  return (
    !HAS_PROXY &&
    /^https?:$/.test(protocol) &&
    username + password === '' &&
    METHODS.has(method) &&
    (body === null || (typeof body === 'string' && method !== 'GET')) &&
    (redirect === 'manual' || redirect === 'error') &&
    Object.keys(init).every((member) => MEMBERS.has(member))
  );
}

/** The request with the headers that the global `fetch` would add. */
function toRequest({ method = 'GET', headers, body }: RequestInit) {
  const own = new Headers(headers);
  const typed = typeof body === 'string' ? { 'content-type': 'text/plain;charset=UTF-8' } : {};
  return {
    method,
    headers: { accept: '*/*', 'user-agent': 'node', ...typed, ...Object.fromEntries(own) },
    body: typeof body === 'string' ? body : undefined,
  };
}

/** Statuses of answers without a body. */
const BODILESS = new Set([204, 205, 304]);

function toResponse({ status, reason, headers, body }: HttpResponse, url: URL, init: RequestInit): Response {
  if (init.redirect === 'error' && REDIRECTS.has(status)) throw new Error('unexpected redirect');
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const content = BODILESS.has(status) ? null : (body as Buffer<ArrayBuffer>);
  const response = new Response(content, { status, statusText: reason, headers: entries });
  const address = url.href.slice(0, url.href.length - url.hash.length);
  return Object.defineProperty(response, 'url', { value: address });
}

function limitedBy(signal: AbortSignal): Pick<TimeLimit, 'onEnd' | 'lift' | 'hasEnded'> {
  const onEnd: TimeLimit['onEnd'] = (listener) => {
    const abort = () => listener(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return () => signal.removeEventListener('abort', abort);
  };
  return addLazyMember({ onEnd, lift() {} }, 'hasEnded', () => signal.aborted);
}
