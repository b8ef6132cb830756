import { isAllowedHeader, isHeaderValue } from './allowed-header.ts';
import type { Bearer, CallBearers } from './call-bearers.ts';
import type { CallCredential } from './choose-credential.ts';
import type { ClientCall } from './client-call.ts';
import {
  addressOf,
  DownstreamFailure,
  type DownstreamRequest,
  type DownstreamResponse,
} from './downstream/client.ts';
import { credentialHeader } from './downstream/credential-form.ts';
import { DefaultTokenFailure } from './downstream/default-token.ts';
import { TokenExchangeFailure } from './downstream/token-exchange.ts';
import type { BegunRequest, DownstreamLines } from './downstream-lines.ts';
import { reduceResult } from './reduce-result.ts';
import type { SourceTarget, Tool } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';
import type { ToolRequest, ToolResponse } from './tool-client.ts';

/** The requests of one call to its API: see `ToolClient`. */
export class RequestClient {
  /** Whether a request that can change something may have been carried out. */
  changed = false;
  /** Status of the last answer; null if there is none. */
  status: number | null = null;
  /** Text for the agent about the last request without a usable answer; null if there was none. */
  failure: string | null = null;
  readonly #tool: Tool;
  readonly #credential: CallCredential;
  readonly #bearers: CallBearers;
  readonly #lines: DownstreamLines;
  readonly #call: ClientCall;
  readonly #access: ToolAccess;

  constructor(
    tool: Tool,
    credential: CallCredential,
    bearers: CallBearers,
    lines: DownstreamLines,
    call: ClientCall,
    access: ToolAccess,
  ) {
    this.#tool = tool;
    this.#credential = credential;
    this.#bearers = bearers;
    this.#lines = lines;
    this.#call = call;
    this.#access = access;
  }

  async request(request: ToolRequest): Promise<ToolResponse> {
    this.#call.signal.throwIfAborted();
    const { target } = this.#tool.source;
    if (target === null) return this.#failed('no_address', 'There is no API that this tool can call.');
    const refused = refusedHeader(request, target);
    if (refused !== undefined)
      return this.#failed('header_refused', `The header \`${refused}\` may not be set.`);
    try {
      return this.#shown(await this.#byPolicy(request, target));
    } catch (error) {
      this.#call.signal.throwIfAborted();
      if (error instanceof DefaultTokenFailure) this.#lines.loginFailed(error.reason);
      else if (error instanceof TokenExchangeFailure) this.#lines.exchangeFailed(error.reason);
      else if (!(error instanceof DownstreamFailure)) throw error;
      this.#call.log.warn(
        // If the call was only too slow, the stack is useless.
        {
          tool: this.#tool.name,
          reason: error.reason,
          ...(error.reason === 'timeout' ? {} : { err: error }),
        },
        'call of the business API failed',
      );
      const reached = error instanceof DownstreamFailure && error.reached;
      return this.#failed(error.reason, error.message, reached);
    }
  }

  /**
   * Sends a request with the credential of the policy. After a 401 to a person's token, sends it again with default
   * credentials if the policy allows it (agentd-agent(7), "Credentials").
   */
  async #byPolicy(request: ToolRequest, target: SourceTarget): Promise<ToolResponse> {
    const { bearer, response } = await this.#send(request, target, () => this.#bearers.chosen());
    const { use } = bearer;
    if (response.status !== 401 || use === 'none' || use === 'default')
      return { outcome: 'answered', credentials: use, ...response };
    const fallsBack = this.#credential.use === 'user' && this.#credential.fallback;
    this.#call.log.warn(
      { tool: this.#tool.name },
      `the business API refused the user's token: ${fallsBack ? 'default credentials for this call' : 'the call was not repeated with default credentials'}`,
    );
    if (!fallsBack) return { outcome: 'sign_in_needed' };
    const second = await this.#send(request, target, () => this.#bearers.byDefault('user_token_refused'));
    return { outcome: 'answered', credentials: 'default', ...second.response };
  }

  /** Makes one request. After a 401 to a token that can be renewed, makes it again with a new token. */
  async #send(
    request: ToolRequest,
    target: SourceTarget,
    obtain: () => Promise<Bearer>,
  ): Promise<{ bearer: Bearer; response: DownstreamResponse }> {
    const bearer = await obtain();
    const response = await this.#once(request, target, bearer);
    if (response.status !== 401 || !this.#bearers.refused(bearer)) return { bearer, response };
    const renewed = await obtain();
    return { bearer: renewed, response: await this.#once(request, target, renewed) };
  }

  async #once(request: ToolRequest, target: SourceTarget, bearer: Bearer): Promise<DownstreamResponse> {
    const line = this.#lines.begin(request, bearer);
    try {
      const response = await this.#access
        .downstreamOf(this.#tool.source.name, target)
        .send(this.#downstreamRequest(request, target, bearer, line));
      const { status } = response;
      this.status = status;
      // A 4xx means that the request was not carried out.
      if (mayChange(request) && (status < 400 || status >= 500)) this.changed = true;
      line.end(status);
      this.#show(request, target, bearer, status);
      return response;
    } catch (error) {
      const reached = !(error instanceof DownstreamFailure) || error.reached;
      if (mayChange(request) && reached) this.changed = true;
      line.end({ failure: error instanceof DownstreamFailure ? error.reason : 'aborted' });
      this.#show(request, target, bearer, null);
      throw error;
    }
  }

  #downstreamRequest(
    request: ToolRequest,
    target: SourceTarget,
    { token }: Bearer,
    { traceparent }: BegunRequest,
  ): DownstreamRequest {
    const { method, path, allow_slash, query, search, content_type, body, encoded } = request;
    const fixed = Object.fromEntries(
      Object.entries(target.headers).map(([name, value]) => [name, value.reveal()]),
    );
    const isBuiltIn = this.#tool.source.kind === 'built-in';
    return {
      method,
      path,
      ...(allow_slash === undefined ? {} : { allow_slash }),
      ...(query === undefined ? {} : { query }),
      ...(search === undefined ? {} : { search }),
      ...(content_type === undefined ? {} : { content_type }),
      headers: { ...request.headers, ...(traceparent === null ? {} : { traceparent }), ...fixed },
      ...(body === undefined ? {} : { body }),
      ...(encoded === undefined ? {} : { encoded }),
      token,
      credential: target.credential,
      secrets: this.#bearers.secrets,
      redirects: isBuiltIn ? 'within_origin' : 'none',
      expects: isBuiltIn ? 'json' : 'text',
      signal: this.#call.signal,
    };
  }

  /** Reports a request to the watcher of this call. */
  #show(
    request: ToolRequest,
    { base_url, credential }: SourceTarget,
    { use, token }: Bearer,
    status: number | null,
  ): void {
    this.#call.watch?.({
      method: request.method,
      url: addressOf(base_url, request).href,
      headers: request.headers ?? {},
      body: request.encoded?.shown ?? request.body,
      credentials: use,
      credential: token && credential,
      status,
    });
  }

  /**
   * The answer that a module sees. Under default credentials, it has only the public fields of the body; a 4xx has no
   * body.
   */
  #shown(response: ToolResponse): ToolResponse {
    if (this.#tool.source.kind !== 'module' || response.outcome !== 'answered') return response;
    if (response.credentials !== 'default') return response;
    const body = response.status >= 400 ? null : reduceResult(response.body, this.#tool.public);
    return { ...response, body };
  }

  #failed(reason: string, message: string, reached = false): ToolResponse {
    this.failure = message;
    return { outcome: 'failed', reached, reason, message };
  }
}

/**
 * The first header that the tool may not set or whose value is invalid. The fixed headers of the source cannot be set,
 * nor can the header of its credential.
 */
function refusedHeader({ headers = {} }: ToolRequest, target: SourceTarget): string | undefined {
  const set = [
    credentialHeader(target.credential),
    ...Object.keys(target.headers).map((name) => name.toLowerCase()),
  ];
  const maySet = (name: string) => isAllowedHeader(name) && !set.includes(name.toLowerCase());
  return Object.entries(headers).find(([name, value]) => !maySet(name) || !isHeaderValue(value))?.[0];
}

/** Whether a request can change something. Safe methods (RFC 9110, section 9.2.1) cannot. */
function mayChange({ method }: ToolRequest): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method);
}
