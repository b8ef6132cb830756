import type { Bearer, CallBearers } from './call-bearers.ts';
import type { ClientCall } from './client-call.ts';
import { credentialHeader, credentialValue } from './downstream/credential-form.ts';
import type { DownstreamLines } from './downstream-lines.ts';
import type { SourceTarget, Tool } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** The `fetch` of one call, for protocol libraries: see `ToolClient`. */
export class FetchClient {
  readonly #tool: Tool;
  readonly #bearers: CallBearers;
  readonly #lines: DownstreamLines;
  readonly #call: ClientCall;
  readonly #observer: ToolAccess['observer'];

  constructor(
    tool: Tool,
    bearers: CallBearers,
    lines: DownstreamLines,
    call: ClientCall,
    observer: ToolAccess['observer'],
  ) {
    this.#tool = tool;
    this.#bearers = bearers;
    this.#lines = lines;
    this.#call = call;
    this.#observer = observer;
  }

  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const { target } = this.#tool.source;
    const request = new Request(input, init);
    if (target === null || new URL(request.url).origin !== new URL(target.base_url).origin)
      throw new TypeError('a request to another origin is refused');
    const again = request.clone();
    const bearer = await this.#bearers.chosen();
    const response = await this.#once(request, target, bearer);
    if (response.status !== 401 || !this.#bearers.refused(bearer)) return response;
    await response.body?.cancel();
    return this.#once(again, target, await this.#bearers.chosen());
  }

  async #once(request: Request, target: SourceTarget, bearer: Bearer): Promise<Response> {
    const headers = new Headers(request.headers);
    const carrier = credentialHeader(target.credential);
    for (const name of ['authorization', 'cookie', 'host', carrier]) headers.delete(name);
    for (const [name, value] of Object.entries(target.headers)) headers.set(name, value.reveal());
    if (bearer.token) {
      const value = credentialValue(target.credential, bearer.token);
      if (value === null) throw new TypeError('the credential cannot be sent as a cookie');
      headers.set(carrier, value);
    }
    const { pathname } = new URL(request.url);
    const line = this.#lines.begin({ method: request.method, path: pathname }, bearer);
    if (line.traceparent !== null) headers.set('traceparent', line.traceparent);
    const began = performance.now();
    try {
      const response = await fetch(new Request(request, { headers, redirect: 'manual' }));
      line.end(response.status);
      this.#ended(request, bearer, response.status, began);
      return response;
    } catch (error) {
      line.end({ failure: this.#call.signal.aborted ? 'aborted' : 'unreachable' });
      this.#ended(request, bearer, null, began);
      throw error;
    }
  }

  #ended({ method, url }: Request, { use, token }: Bearer, status: number | null, began: number): void {
    const credential = token && (this.#tool.source.target?.credential ?? null);
    this.#call.watch?.({ method, url, headers: {}, credentials: use, credential, status });
    const { aborted, reason } = this.#call.signal;
    const isLate = aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
    // A request that was aborted by the run has no result to report.
    if (status === null && aborted && !isLate) return;
    const seconds = (performance.now() - began) / 1000;
    const failure = isLate ? 'timeout' : 'unreachable';
    this.#observer.downstreamEnded(this.#tool.source.name, status ?? failure, seconds);
  }
}
