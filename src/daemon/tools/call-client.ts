import { createHmac, randomBytes } from 'node:crypto';
import type { Log } from '../process/log.ts';
import { maskTokens, type Secret } from '../settings/secret.ts';
import type { Clock } from '../time/clock.ts';
import type { SpanSubject } from '../trace/span.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import { reduceResult } from './answer.ts';
import type { CallCredential } from './choose-credential.ts';
import {
  addressOf,
  DownstreamFailure,
  type DownstreamRequest,
  type DownstreamResponse,
} from './downstream/client.ts';
import { type CredentialForm, credentialHeader, credentialValue } from './downstream/credential-form.ts';
import { DefaultTokenFailure, TOKEN_PATH } from './downstream/default-token.ts';
import { isAllowedHeader, isHeaderValue } from './downstream/headers.ts';
import { TokenExchangeFailure } from './downstream/token-exchange.ts';
import type { CredentialsUsed, SourceTarget, Tool, ToolClient, ToolRequest, ToolResponse } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** The call for which a client is opened. */
export interface ClientCall {
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

/** A client, and a record of its requests. The policy relies on this record, not on what a source says. */
export interface OpenedClient {
  readonly client: ToolClient;
  /** Whether an answer may have been made with default credentials. */
  readonly usedDefault: boolean;
  /**
   * Whether a request that can change something may have been carried out. Requests of `fetch` are not considered: only
   * the source knows what they do.
   */
  readonly changed: boolean;
  /** Status of the last answer to `request`; null if there is none. */
  readonly status: number | null;
  /** Text for the agent about the last request without a usable answer; null if there was none. */
  readonly failure: string | null;
  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  readonly secrets: readonly Secret[];
}

/** The key of the HMAC in `identity`. It is different in each process. */
const IDENTITY_KEY = randomBytes(32);

/** Opens the client of one call: see `ToolClient`. */
export function openToolClient(
  tool: Tool,
  credential: CallCredential,
  call: ClientCall,
  access: ToolAccess,
): OpenedClient {
  const bearers = new CallBearers(tool, credential, access, call.signal);
  const lines = new DownstreamLines(tool, call.trace, access.clock);
  const requests = new RequestClient(tool, credential, bearers, lines, call, access);
  const fetches = new FetchClient(tool, bearers, lines, call, access.observer);
  // A source gets only these members.
  const client: ToolClient = Object.freeze({
    request: (request: ToolRequest) => requests.request(request),
    fetch: (input: string | URL | Request, init?: RequestInit) => fetches.fetch(input, init),
    credentials: credential.use,
    // A getter, because the hash costs time and few sources need it.
    get identity() {
      return identityOf(credential);
    },
  });
  return new OpenedCall(client, bearers, requests);
}

/** A class, because an object literal with getters would cost several times as much to create. */
class OpenedCall implements OpenedClient {
  readonly client: ToolClient;
  readonly #bearers: CallBearers;
  readonly #requests: RequestClient;

  constructor(client: ToolClient, bearers: CallBearers, requests: RequestClient) {
    this.client = client;
    this.#bearers = bearers;
    this.#requests = requests;
  }

  get usedDefault() {
    return this.#bearers.usedDefault;
  }

  get changed() {
    return this.#requests.changed;
  }

  get status() {
    return this.#requests.status;
  }

  get failure() {
    return this.#requests.failure;
  }

  get secrets() {
    return this.#bearers.secrets;
  }
}

function identityOf(credential: CallCredential): string {
  if (credential.use === 'none' || credential.use === 'default') return credential.use;
  const named = createHmac('sha256', IDENTITY_KEY).update(credential.token.reveal()).digest('base64url');
  return `${credential.use}:${named}`;
}

/** A bearer token, and whose token it is. */
export interface Bearer {
  use: CredentialsUsed;
  token: Secret | null;
  /** Why the person's own token is not used; null if the policy asks for this token. */
  because: string | null;
}

/** The bearer tokens of one call: obtains them, and remembers which of them were used. */
export class CallBearers {
  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  readonly secrets: Secret[];
  #usedDefault = false;
  readonly #tool: Tool;
  readonly #credential: CallCredential;
  readonly #access: Pick<ToolAccess, 'defaultToken' | 'exchange'>;
  readonly #signal: AbortSignal;

  constructor(
    tool: Tool,
    credential: CallCredential,
    access: Pick<ToolAccess, 'defaultToken' | 'exchange'>,
    signal: AbortSignal,
  ) {
    this.#tool = tool;
    this.#credential = credential;
    this.#access = access;
    this.#signal = signal;
    this.secrets = Object.values(tool.source.target?.headers ?? {});
  }

  /** Whether default credentials were handed out, so that an answer may have been made with them. */
  get usedDefault(): boolean {
    return this.#usedDefault;
  }

  /**
   * The bearer that the policy chose.
   * @throws DefaultTokenFailure, TokenExchangeFailure
   */
  async chosen(): Promise<Bearer> {
    const credential = this.#credential;
    switch (credential.use) {
      case 'none':
        return { use: 'none', token: null, because: null };
      case 'default':
        return this.byDefault(credential.because);
      case 'user':
        this.secrets.push(credential.token);
        return { use: 'user', token: credential.token, because: null };
      case 'exchange': {
        const { name, target } = this.#tool.source;
        if (!target?.exchange) throw new TypeError(`the source of ${this.#tool.name} has no exchange`);
        const { exchange } = this.#access;
        const token = await exchange.exchange(name, target.exchange, credential.token, this.#signal);
        this.secrets.push(token);
        return { use: 'exchange', token, because: null };
      }
    }
  }

  /**
   * The default credentials. They are sent only to the API; no policy can change that.
   * @throws DefaultTokenFailure
   */
  async byDefault(because: string | null): Promise<Bearer> {
    if (!this.#tool.source.target?.is_api || !this.#access.defaultToken)
      throw new TypeError(`${this.#tool.name} must not use the default credentials`);
    const token = await this.#access.defaultToken.get(this.#signal);
    this.secrets.push(token);
    this.#usedDefault = true;
    return { use: 'default', token, because };
  }

  /**
   * Called after a 401 for a bearer token, so that the next request gets a new token. @returns false if no new token
   * can be obtained.
   */
  refused({ use, token }: Bearer): boolean {
    if (token === null || (use !== 'default' && use !== 'exchange')) return false;
    if (use === 'default') this.#access.defaultToken?.refused(token);
    else this.#access.exchange.refused(token);
    return true;
  }
}

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

const MAX_TRACED_PATH = 200;

interface Begins {
  method: string;
  path: string;
}

/** A request that has begun. */
export interface BegunRequest {
  /** Value of the request's header `traceparent`; null if it has none. */
  readonly traceparent: string | null;
  /** Writes the trace line of the request. @param end the status of the answer; if there is none, the failure. */
  end(end: number | { failure: string }): void;
}

/** Writes the trace lines of the requests of one call. */
export class DownstreamLines {
  readonly #source: string;
  readonly #subject: SpanSubject;
  readonly #trace: TraceWriter;
  readonly #clock: Clock;

  constructor({ source }: Tool, trace: TraceWriter, clock: Clock) {
    // Modules and built-in tools call the business API.
    this.#source = source.kind === 'built-in' || source.kind === 'module' ? 'api' : source.name;
    this.#subject = source.origin === null ? {} : { origin: source.origin };
    this.#trace = trace;
    this.#clock = clock;
  }

  begin({ method, path }: Begins, bearer: Bearer): BegunRequest {
    const part = this.#trace.begin('downstream', this.#subject);
    const started_at = this.#clock.now();
    const detail: NonNullable<TraceLine['detail']> = {
      credentials: bearer.use,
      method,
      path: maskTokens(path).slice(0, MAX_TRACED_PATH),
      source: this.#source,
    };
    const { because } = bearer;
    if (because !== null) detail.default_because = because;
    return {
      traceparent: part.traceparent,
      end: (end) => {
        if (typeof end === 'number') detail.status = end;
        part.end({ ...verdictOf(bearer, end), detail, took_ms: this.#clock.now() - started_at });
      },
    };
  }

  loginFailed(reason: string): void {
    const detail = { credentials: 'default', method: 'POST', path: TOKEN_PATH };
    this.#note({ verdict: 'failed', reason, detail });
  }

  exchangeFailed(reason: string): void {
    this.#note({ verdict: 'failed', reason, detail: { credentials: 'exchange' } });
  }

  #note(line: Omit<TraceLine, 'at' | 'step'>): void {
    this.#trace.note({ step: 'downstream', ...line });
  }
}

function verdictOf(
  { use, because }: Bearer,
  end: number | { failure: string },
): Pick<TraceLine, 'verdict' | 'reason'> {
  if (typeof end !== 'number') return { verdict: 'failed', reason: end.failure };
  if (end === 401 && use !== 'none') return { verdict: 'failed', reason: `${use}_token_refused` };
  // A 404 is a valid answer: the thing does not exist.
  if (end >= 400 && end !== 404) return { verdict: 'failed', reason: `http_${end}` };
  return because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because };
}

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
