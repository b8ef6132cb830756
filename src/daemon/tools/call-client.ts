import { createHmac, randomBytes } from 'node:crypto';
import type { Log } from '../process/log.ts';
import { maskTokens, type Secret } from '../settings/secret.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import { reduceResult } from './answer.ts';
import { type Bearer, CallBearers, noteFailure } from './call-bearers.ts';
import type { CallCredential } from './choose-credential.ts';
import type { ToolRequest } from './downstream/client.ts';
import { buildUrl, DownstreamFailure, type DownstreamResponse } from './downstream/client.ts';
import { type CredentialForm, credentialHeader, credentialValue } from './downstream/credential-form.ts';
import { DefaultTokenFailure, TOKEN_PATH } from './downstream/default-token.ts';
import { isAllowedHeader, isHeaderValue } from './downstream/headers.ts';
import { TokenExchangeFailure } from './downstream/token-exchange.ts';
import type { CredentialsUsed, SourceTarget, Tool, ToolClient, ToolResponse } from './tool.ts';
import { API, type ToolAccess } from './tool-access.ts';

/** The call for which a client is opened. */
interface ClientCall {
  signal: AbortSignal;
  trace: TraceWriter;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** Called with each request of a call and the status of its answer; used by `agentd tools call`. */
export type RequestWatcher = (request: WatchedRequest) => void;

export interface WatchedRequest {
  method: string;
  url: string;
  /** The headers that the tool set. Fixed headers and credentials are not included. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if the request has no body. */
  body?: unknown;
  credentials: CredentialsUsed;
  /** Where the request carries the credential; null if it carries none. */
  credential: CredentialForm | null;
  /** The status of the answer; null if there is none. */
  status: number | null;
}

/** The key of the HMAC in `identity`. It is different in each process. */
const IDENTITY_KEY = randomBytes(32);
const MAX_TRACED_PATH = 200;

/** A request that has begun. */
interface BegunRequest {
  /** Value of the request's header `traceparent`; null if it has none. */
  readonly traceparent: string | null;
  /** Writes the trace line of the request. @param end the status of the answer; if there is none, the failure. */
  end(end: number | { failure: string }): void;
}

/**
 * The client of one call (see `ToolClient`), and a record of its requests. The policy relies on this record, not on what
 * a source says.
 */
export class CallClient {
  /** A source gets only this. */
  readonly client: ToolClient;
  /**
   * Whether a request that can change something may have been carried out. Requests of `fetch` are not considered: only
   * the source knows what they do.
   */
  changed = false;
  /** Status of the last answer to `request`; null if there is none. */
  status: number | null = null;
  /** Text for the agent about the last request without a usable answer; null if there was none. */
  failure: string | null = null;
  readonly #tool: Tool;
  readonly #credential: CallCredential;
  readonly #bearers: CallBearers;
  readonly #call: ClientCall;
  readonly #access: ToolAccess;

  constructor(tool: Tool, credential: CallCredential, call: ClientCall, access: ToolAccess) {
    this.#tool = tool;
    this.#credential = credential;
    this.#call = call;
    this.#access = access;
    this.#bearers = new CallBearers(tool, credential, call, access);
    this.client = Object.freeze({
      request: (request: ToolRequest) => this.#request(request),
      fetch: (input: string | URL | Request, init?: RequestInit) => this.#fetch(input, init),
      credentials: credential.use,
      // A getter, because the hash costs time and few sources need it.
      get identity() {
        return identify(credential);
      },
    });
  }

  /** Whether default credentials were handed out, so that an answer may have been made with them. */
  get usedDefault(): boolean {
    return this.#bearers.usedDefault;
  }

  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  get secrets(): readonly Secret[] {
    return this.#bearers.secrets;
  }

  async #request(request: ToolRequest): Promise<ToolResponse> {
    this.#call.signal.throwIfAborted();
    const { target } = this.#tool.source;
    if (target === null) return this.#fail('no_address', 'There is no API that this tool can call.');
    const refused = refusedHeader(request, target);
    if (refused !== undefined)
      return this.#fail('header_refused', `The header \`${refused}\` may not be set.`);
    try {
      return this.#reduce(await this.#sendByPolicy(request, target));
    } catch (error) {
      this.#call.signal.throwIfAborted();
      if (error instanceof DefaultTokenFailure)
        noteFailure(this.#call.trace, error.reason, {
          credentials: 'default',
          method: 'POST',
          path: TOKEN_PATH,
        });
      else if (error instanceof TokenExchangeFailure)
        noteFailure(this.#call.trace, error.reason, { credentials: 'exchange' });
      else if (!(error instanceof DownstreamFailure)) throw error;
      const { reason, message } = error;
      // If the call was only too slow, the stack is useless.
      const detail = { tool: this.#tool.name, reason, ...(reason === 'timeout' ? {} : { err: error }) };
      this.#call.log.warn(detail, 'call of the business API failed');
      return this.#fail(reason, message, error instanceof DownstreamFailure && error.reached);
    }
  }

  /**
   * Sends a request with the credential of the policy. After a 401 to a person's token, sends it again with default
   * credentials if the policy allows it (agentd-agent(7), "Credentials").
   */
  async #sendByPolicy(request: ToolRequest, target: SourceTarget): Promise<ToolResponse> {
    if (await this.#bearers.isSignedOut()) return { outcome: 'sign_in_needed' };
    const { use, response } = await this.#sendTwice(request, target, () => this.#bearers.chosen());
    if (response.status !== 401 || use === 'none' || use === 'default')
      return { outcome: 'answered', credentials: use, ...response };
    const fallsBack = this.#credential.use === 'user' && this.#credential.fallback;
    this.#call.log.warn(
      { tool: this.#tool.name },
      `the business API refused the user's token: ${fallsBack ? 'default credentials for this call' : 'the call was not repeated with default credentials'}`,
    );
    if (!fallsBack) return { outcome: 'sign_in_needed' };
    const second = await this.#sendTwice(request, target, () => this.#bearers.default('user_token_refused'));
    return { outcome: 'answered', credentials: 'default', ...second.response };
  }

  /** Makes one request. After a 401 to a token that can be renewed, makes it again with a new token. */
  async #sendTwice(
    request: ToolRequest,
    target: SourceTarget,
    obtain: () => Promise<Bearer>,
  ): Promise<{ use: CredentialsUsed; response: DownstreamResponse }> {
    const bearer = await obtain();
    const response = await this.#sendOnce(request, target, bearer);
    if (response.status !== 401 || !this.#bearers.renew(bearer)) return { use: bearer.use, response };
    const renewed = await obtain();
    return { use: renewed.use, response: await this.#sendOnce(request, target, renewed) };
  }

  async #sendOnce(request: ToolRequest, target: SourceTarget, bearer: Bearer): Promise<DownstreamResponse> {
    const { method, headers } = request;
    const isBuiltIn = this.#tool.source.kind === 'built-in';
    const mayChange = !SAFE_METHODS.includes(method);
    const line = this.#beginLine(method, request.path, bearer);
    const watch = (status: number | null) =>
      this.#call.watch?.({
        method,
        url: buildUrl(target.base_url, request).href,
        headers: headers ?? {},
        body: request.encoded?.shown ?? request.body,
        credentials: bearer.use,
        credential: bearer.token && target.credential,
        status,
      });
    try {
      const { traceparent } = line;
      const response = await this.#access.getDownstream(this.#source, target).send({
        ...request,
        headers: { ...headers, ...(traceparent === null ? {} : { traceparent }), ...fixedHeaders(target) },
        token: bearer.token,
        credential: target.credential,
        secrets: this.secrets,
        redirects: isBuiltIn ? 'within_origin' : 'none',
        expects: isBuiltIn ? 'json' : 'text',
        signal: this.#call.signal,
      });
      const { status } = response;
      this.status = status;
      // A 4xx means that the request was not carried out.
      if (mayChange && (status < 400 || status >= 500)) this.changed = true;
      line.end(status);
      watch(status);
      return response;
    } catch (error) {
      const isFailure = error instanceof DownstreamFailure;
      if (mayChange && (!isFailure || error.reached)) this.changed = true;
      line.end({ failure: isFailure ? error.reason : 'aborted' });
      watch(null);
      throw error;
    }
  }

  /**
   * The answer that a module sees. Under default credentials, it has only the public fields of the body; a 4xx has no
   * body.
   */
  #reduce(response: ToolResponse): ToolResponse {
    if (this.#tool.source.kind !== 'module' || response.outcome !== 'answered') return response;
    if (response.credentials !== 'default') return response;
    const body = response.status >= 400 ? null : reduceResult(response.body, this.#tool.public);
    return { ...response, body };
  }

  #fail(reason: string, message: string, reached = false): ToolResponse {
    this.failure = message;
    return { outcome: 'failed', reached, reason, message };
  }

  async #fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const { target } = this.#tool.source;
    const request = new Request(input, init);
    if (target === null || new URL(request.url).origin !== new URL(target.base_url).origin)
      throw new TypeError('a request to another origin is refused');
    const again = request.clone();
    // As if the system had refused the token, which is not sent.
    if (await this.#bearers.isSignedOut()) return new Response(null, { status: 401 });
    const bearer = await this.#bearers.chosen();
    const response = await this.#fetchOnce(request, target, bearer);
    if (response.status !== 401 || !this.#bearers.renew(bearer)) return response;
    await response.body?.cancel();
    return this.#fetchOnce(again, target, await this.#bearers.chosen());
  }

  async #fetchOnce(request: Request, target: SourceTarget, bearer: Bearer): Promise<Response> {
    const { method, url } = request;
    const { use, token } = bearer;
    const headers = new Headers(request.headers);
    const carrier = credentialHeader(target.credential);
    for (const name of ['authorization', 'cookie', 'host', carrier]) headers.delete(name);
    for (const [name, value] of Object.entries(fixedHeaders(target))) headers.set(name, value);
    if (token) {
      const value = credentialValue(target.credential, token);
      if (value === null) throw new TypeError('the credential cannot be sent as a cookie');
      headers.set(carrier, value);
      // Otherwise the next person's request on the connection could get an answer too many to this one.
      if (use !== 'default') headers.set('connection', 'close');
    }
    const line = this.#beginLine(method, new URL(url).pathname, bearer);
    if (line.traceparent !== null) headers.set('traceparent', line.traceparent);
    const began = performance.now();
    const end = (status: number | null) => {
      const { aborted, reason } = this.#call.signal;
      line.end(status ?? { failure: aborted ? 'aborted' : 'unreachable' });
      this.#call.watch?.({
        ...{ method, url, headers: {}, status },
        ...{ credentials: use, credential: token && target.credential },
      });
      const isLate = aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
      // A request that was aborted by the run has no result to report.
      if (status === null && aborted && !isLate) return;
      const seconds = (performance.now() - began) / 1000;
      const failure = isLate ? 'timeout' : 'unreachable';
      this.#access.observer.downstreamEnded(this.#source, status ?? failure, seconds);
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

  /** The name under which requests are counted and traced. Modules and built-in tools call the business API. */
  get #source(): string {
    const { kind, name } = this.#tool.source;
    return kind === 'built-in' || kind === 'module' ? API : name;
  }

  /** Begins the trace line of a request. */
  #beginLine(method: string, path: string, bearer: Bearer): BegunRequest {
    const { origin } = this.#tool.source;
    const { clock } = this.#access;
    const part = this.#call.trace.begin('downstream', origin === null ? {} : { origin });
    const started_at = clock.now();
    const detail: NonNullable<TraceLine['detail']> = {
      credentials: bearer.use,
      method,
      path: maskTokens(path).slice(0, MAX_TRACED_PATH),
      source: this.#source,
      ...(bearer.because === null ? {} : { default_because: bearer.because }),
    };
    return {
      traceparent: part.traceparent,
      end: (end) => {
        if (typeof end === 'number') detail.status = end;
        part.end({ ...judge(bearer, end), detail, took_ms: clock.now() - started_at });
      },
    };
  }
}

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

function identify(credential: CallCredential): string {
  if (credential.use === 'none' || credential.use === 'default') return credential.use;
  const named = createHmac('sha256', IDENTITY_KEY).update(credential.token.reveal()).digest('base64url');
  return `${credential.use}:${named}`;
}

function fixedHeaders({ headers }: SourceTarget): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
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

function judge(
  { use, because }: Bearer,
  end: number | { failure: string },
): Pick<TraceLine, 'verdict' | 'reason'> {
  if (typeof end !== 'number') return { verdict: 'failed', reason: end.failure };
  if (end === 401 && use !== 'none') return { verdict: 'failed', reason: `${use}_token_refused` };
  // A 404 is a valid answer: the thing does not exist.
  if (end >= 400 && end !== 404) return { verdict: 'failed', reason: `http_${end}` };
  return because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because };
}
