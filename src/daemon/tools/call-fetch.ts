import { revealAll } from '../settings/secret.ts';
import type { Bearer } from './call-bearers.ts';
import { beginRequest, nameOfSource, type OpenCall } from './call-request.ts';
import { credentialHeader, credentialValue } from './downstream/credential-form.ts';
import { sendRenewing } from './downstream/send-renewing.ts';
import type { SourceTarget } from './tool.ts';

/** Makes one request with the `fetch` of a call (`ToolClient.fetch`). */
export async function fetchForCall(
  open: OpenCall,
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const { bearers } = open;
  const { target } = open.tool.source;
  const request = new Request(input, init);
  if (target === null || new URL(request.url).origin !== new URL(target.base_url).origin)
    throw new TypeError('a request to another origin is refused');
  const sent = await sendRenewing(
    { obtain: () => bearers.chosen(), renew: (bearer) => bearers.renew(bearer) },
    (bearer) => fetchOnce(open, request.clone(), target, bearer),
  );
  // As if the system had refused the token, which is not sent.
  return sent?.answer ?? new Response(null, { status: 401 });
}

async function fetchOnce(
  open: OpenCall,
  request: Request,
  target: SourceTarget,
  bearer: Bearer,
): Promise<Response> {
  const { method, url } = request;
  const headers = headersWith(request, target, bearer);
  const shown = () => ({ url, headers: {} });
  const begun = beginRequest(open, bearer, { method, path: new URL(url).pathname, shown });
  if (begun.traceparent !== null) headers.set('traceparent', begun.traceparent);
  const began = performance.now();
  const end = (status: number | null) => {
    const { aborted, reason } = open.signal;
    begun.end(status ?? { failure: aborted ? 'aborted' : 'unreachable' });
    const isLate = aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
    // A request that was aborted by the run has no result to report.
    if (status === null && aborted && !isLate) return;
    const failure = isLate ? 'timeout' : 'unreachable';
    const seconds = (performance.now() - began) / 1000;
    open.access.observer.downstreamEnded(nameOfSource(open.tool), status ?? failure, seconds);
  };
  try {
    const response = await fetch(new Request(request, { headers, redirect: 'manual' }));
    end(response.status);
    return response;
  } catch (error) {
    end(null);
    throw error;
  }
}

/** The headers of a request, with the fixed headers of the source and the credential. */
function headersWith(request: Request, target: SourceTarget, { use, token }: Bearer): Headers {
  const headers = new Headers(request.headers);
  const carrier = credentialHeader(target.credential);
  for (const name of ['authorization', 'cookie', 'host', carrier]) headers.delete(name);
  for (const [name, value] of Object.entries(revealAll(target.headers))) headers.set(name, value);
  if (token) {
    const value = credentialValue(target.credential, token);
    if (value === null) throw new TypeError('the credential cannot be sent as a cookie');
    headers.set(carrier, value);
    // Otherwise the next person's request on the connection could get an answer too many to this one.
    if (use !== 'default') headers.set('connection', 'close');
  }
  return headers;
}
