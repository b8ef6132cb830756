import { createHmac, randomBytes } from 'node:crypto';
import { addressOf, DownstreamFailure, type DownstreamResponse } from '../downstream/client.ts';
import { DefaultTokenFailure, TOKEN_PATH } from '../downstream/default-token.ts';
import { TokenExchangeFailure } from '../downstream/token-exchange.ts';
import type { Log } from '../log.ts';
import { maskTokens, type Secret } from '../secret.ts';
import type { Trace } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import { isAllowedHeader, isHeaderValue } from './allowed-header.ts';
import type { CallCredential } from './choose-credential.ts';
import { reduceResult } from './reduce-result.ts';
import type { CredentialsUsed, SourceTarget, Tool } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';
import type { ToolClient, ToolRequest, ToolResponse } from './tool-client.ts';

/** What a client needs of the call that it is opened for. */
export interface ClientCall {
  signal: AbortSignal;
  trace: Trace;
  request_id: string | undefined;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** Is shown each request with its answer; for `agentd tools call`. */
export type RequestWatcher = (request: WatchedRequest) => void;

export interface WatchedRequest {
  method: string;
  url: string;
  /** Those that the tool set. Fixed headers and credentials are never among them. */
  headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  body?: unknown;
  credentials: CredentialsUsed;
  /** Null: there is no answer. */
  status: number | null;
}

/** A client, and what it has done: the policy relies on this, not on what a source says. */
export interface OpenedClient {
  readonly client: ToolClient;
  /** An answer was made under default credentials. */
  readonly usedDefault: boolean;
  /** A request that may change something may have been carried out. Of `fetch` only the source can know this. */
  readonly changed: boolean;
  /** Of the last answer to `request`; null if there is none. */
  readonly status: number | null;
  /** In words for the agent: the last request that had no usable answer. */
  readonly failure: string | null;
  /** Secrets that left with requests: an answer may echo them. */
  readonly secrets: readonly Secret[];
}

/** A bearer, and whose it is. */
interface Bearer {
  use: CredentialsUsed;
  token: Secret | null;
  /** Why it is not the person's; null if the policy asks for it. */
  because: string | null;
}

const MAX_TRACED_PATH = 200;
/** Names credentials for this process alone. */
const IDENTITY_KEY = randomBytes(32);

/** The way out of one call: see `ToolClient`. */
export function openToolClient(
  tool: Tool,
  credential: CallCredential,
  call: ClientCall,
  access: ToolAccess,
): OpenedClient {
  const opened = new CallClient(tool, credential, call, access);
  // A source gets these members and no way to the rest.
  const client: ToolClient = Object.freeze({
    request: (request: ToolRequest) => opened.request(request),
    fetch: (input: string | URL | Request, init?: RequestInit) => opened.fetch(input, init),
    credentials: credential.use,
    // Costs a hash, and few sources ask for it.
    get identity() {
      return identityOf(credential);
    },
  });
  return {
    client,
    get usedDefault() {
      return opened.usedDefault;
    },
    get changed() {
      return opened.changed;
    },
    get status() {
      return opened.status;
    },
    get failure() {
      return opened.failure;
    },
    secrets: opened.secrets,
  };
}

class CallClient {
  usedDefault = false;
  changed = false;
  status: number | null = null;
  failure: string | null = null;
  readonly secrets: Secret[] = [];
  readonly #tool: Tool;
  readonly #target: SourceTarget | null;
  readonly #credential: CallCredential;
  readonly #call: ClientCall;
  readonly #access: ToolAccess;

  constructor(tool: Tool, credential: CallCredential, call: ClientCall, access: ToolAccess) {
    this.#tool = tool;
    this.#target = tool.source.target;
    this.#credential = credential;
    this.#call = call;
    this.#access = access;
    if (this.#target) this.secrets.push(...Object.values(this.#target.headers));
  }

  async request(request: ToolRequest): Promise<ToolResponse> {
    this.#call.signal.throwIfAborted();
    if (this.#target === null) return this.#failed('no_address', 'There is no API that this tool can call.');
    const refused = Object.entries(request.headers ?? {}).find(
      ([name, value]) => !this.#maySet(name) || !isHeaderValue(value),
    )?.[0];
    if (refused !== undefined)
      return this.#failed('header_refused', `The header \`${refused}\` may not be set.`);
    try {
      return this.#shown(await this.#byPolicy(request));
    } catch (error) {
      this.#call.signal.throwIfAborted();
      if (error instanceof DefaultTokenFailure) this.#noteLogin(error.reason);
      else if (error instanceof TokenExchangeFailure) this.#noteExchange(error.reason);
      else if (!(error instanceof DownstreamFailure)) throw error;
      this.#call.log.warn(
        { request_id: this.#call.request_id, tool: this.#tool.name, reason: error.reason, err: error },
        'call of the business API failed',
      );
      const reached = error instanceof DownstreamFailure && error.reached;
      return this.#failed(error.reason, error.message, reached);
    }
  }

  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    if (this.#target === null || new URL(request.url).origin !== new URL(this.#target.base_url).origin)
      throw new TypeError('a request to another origin than that of its source is refused');
    const again = request.clone();
    const bearer = await this.#bearer();
    const response = await this.#fetchOnce(request, this.#target, bearer);
    if (response.status !== 401 || !this.#forget(bearer)) return response;
    await response.body?.cancel();
    return this.#fetchOnce(again, this.#target, await this.#bearer());
  }

  async #fetchOnce(request: Request, target: SourceTarget, bearer: Bearer): Promise<Response> {
    const headers = new Headers(request.headers);
    for (const name of ['authorization', 'cookie', 'host']) headers.delete(name);
    for (const [name, value] of Object.entries(target.headers)) headers.set(name, value.reveal());
    if (bearer.token) headers.set('authorization', `Bearer ${bearer.token.reveal()}`);
    if (bearer.use === 'default') this.usedDefault = true;
    const note = this.#line(request.method, new URL(request.url).pathname, bearer);
    const began = performance.now();
    const ended = (status: number | null) => {
      const { name } = this.#tool.source;
      this.#call.watch?.({
        method: request.method,
        url: request.url,
        headers: {},
        credentials: bearer.use,
        status,
      });
      if (status === null && this.#call.signal.aborted) return;
      const seconds = (performance.now() - began) / 1000;
      this.#access.observer.downstreamEnded(name, status ?? 'unreachable', seconds);
    };
    try {
      const response = await fetch(new Request(request, { headers, redirect: 'manual' }));
      note(response.status);
      ended(response.status);
      return response;
    } catch (error) {
      note(null, this.#call.signal.aborted ? 'aborted' : 'unreachable');
      ended(null);
      throw error;
    }
  }

  #maySet(name: string): boolean {
    const fixed = Object.keys(this.#target?.headers ?? {}).map((one) => one.toLowerCase());
    return isAllowedHeader(name) && !fixed.includes(name.toLowerCase());
  }

  /**
   * A person's token that gets a 401 gives way to default credentials if the policy allows this (agentd-agent(7),
   * "Credentials").
   */
  async #byPolicy(request: ToolRequest): Promise<ToolResponse> {
    const { bearer, response } = await this.#send(request, () => this.#bearer());
    const { use } = bearer;
    if (response.status !== 401 || use === 'none' || use === 'default')
      return { outcome: 'answered', credentials: use, ...response };
    const fallsBack = this.#credential.use === 'user' && this.#credential.fallback;
    this.#call.log.warn(
      { request_id: this.#call.request_id, tool: this.#tool.name },
      `the business API refused the user's token: ${fallsBack ? 'default credentials for this call' : 'no call in its stead'}`,
    );
    if (!fallsBack) return { outcome: 'sign_in_needed' };
    const second = await this.#send(request, () => this.#defaultBearer('user_token_refused'));
    return { outcome: 'answered', credentials: 'default', ...second.response };
  }

  /** One request; after a 401 to a token that can be obtained anew, one more. */
  async #send(
    request: ToolRequest,
    obtain: () => Promise<Bearer>,
  ): Promise<{ bearer: Bearer; response: DownstreamResponse }> {
    const bearer = await obtain();
    const response = await this.#attempt(request, bearer);
    if (response.status !== 401 || !this.#forget(bearer)) return { bearer, response };
    const renewed = await obtain();
    return { bearer: renewed, response: await this.#attempt(request, renewed) };
  }

  /** False: the token cannot be obtained anew. */
  #forget({ use, token }: Bearer): boolean {
    if (token === null || (use !== 'default' && use !== 'exchange')) return false;
    if (use === 'default') this.#access.defaultToken?.refused(token);
    else this.#access.exchange.refused(token);
    return true;
  }

  async #bearer(): Promise<Bearer> {
    const credential = this.#credential;
    switch (credential.use) {
      case 'none':
        return { use: 'none', token: null, because: null };
      case 'default':
        return this.#defaultBearer(credential.because);
      case 'user':
        this.secrets.push(credential.token);
        return { use: 'user', token: credential.token, because: null };
      case 'exchange': {
        const settings = this.#target?.exchange;
        if (!settings) throw new TypeError(`the source of ${this.#tool.name} has no exchange`);
        const { name } = this.#tool.source;
        const { signal } = this.#call;
        const token = await this.#access.exchange.exchange(name, settings, credential.token, signal);
        this.secrets.push(token);
        return { use: 'exchange', token, because: null };
      }
    }
  }

  async #defaultBearer(because: string | null): Promise<Bearer> {
    // Checked once more where the token is: it goes to no other origin.
    if (!this.#target?.is_api || !this.#access.defaultToken)
      throw new TypeError(`${this.#tool.name} must not use the default credentials`);
    const token = await this.#access.defaultToken.get(this.#call.signal);
    this.secrets.push(token);
    return { use: 'default', token, because };
  }

  /** One request, and its line in the trace. */
  async #attempt(request: ToolRequest, bearer: Bearer): Promise<DownstreamResponse> {
    const { source } = this.#tool;
    const target = this.#target as SourceTarget;
    const fixed = Object.fromEntries(
      Object.entries(target.headers).map(([name, value]) => [name, value.reveal()]),
    );
    const note = this.#line(request.method, request.path, bearer);
    const watch = (status: number | null) =>
      this.#call.watch?.({
        method: request.method,
        url: addressOf(target.base_url, request).href,
        headers: request.headers ?? {},
        body: request.body,
        credentials: bearer.use,
        status,
      });
    if (bearer.use === 'default') this.usedDefault = true;
    try {
      const response = await this.#access.downstreamOf({ ...source, target }).send({
        method: request.method,
        path: request.path,
        ...(request.query === undefined ? {} : { query: request.query }),
        ...(request.search === undefined ? {} : { search: request.search }),
        ...(request.content_type === undefined ? {} : { content_type: request.content_type }),
        headers: { ...request.headers, ...fixed },
        ...(request.body === undefined ? {} : { body: request.body }),
        token: bearer.token,
        secrets: this.secrets,
        redirects: source.kind === 'built-in' ? 'within_origin' : 'none',
        expects: source.kind === 'built-in' ? 'json' : 'text',
        signal: this.#call.signal,
      });
      // A 4xx means that the request was not carried out.
      const { status } = response;
      this.status = status;
      if (mayChange(request.method) && (status < 400 || status >= 500)) this.changed = true;
      note(status);
      watch(status);
      return response;
    } catch (error) {
      const reached = !(error instanceof DownstreamFailure) || error.reached;
      if (mayChange(request.method) && reached) this.changed = true;
      note(null, error instanceof DownstreamFailure ? error.reason : 'aborted');
      watch(null);
      throw error;
    }
  }

  /** A module sees of an answer under default credentials only what is public, and of a 4xx only its status. */
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

  /** @returns notes the line, with the status of the answer; null if there is none. */
  #line(method: string, path: string, bearer: Bearer): (status: number | null, failure?: string) => void {
    const { clock } = this.#access;
    const started_at = clock.now();
    const detail: NonNullable<TraceLine['detail']> = {
      credentials: bearer.use,
      method,
      path: maskTokens(path).slice(0, MAX_TRACED_PATH),
      source: labelOf(this.#tool),
    };
    const { because } = bearer;
    if (because !== null) detail.default_because = because;
    return (status, failure) => {
      if (status !== null) detail.status = status;
      this.#note({ ...verdictOf(bearer, status, failure), detail, took_ms: clock.now() - started_at });
    };
  }

  #noteLogin(reason: string): void {
    this.#note({
      verdict: 'failed',
      reason,
      detail: { credentials: 'default', method: 'POST', path: TOKEN_PATH },
    });
  }

  #noteExchange(reason: string): void {
    this.#note({ verdict: 'failed', reason, detail: { credentials: 'exchange' } });
  }

  #note(line: Omit<TraceLine, 'at' | 'step'>): void {
    this.#call.trace.note({ step: 'downstream', ...line });
  }
}

function verdictOf(
  { use, because }: Bearer,
  status: number | null,
  failure: string | undefined,
): Pick<TraceLine, 'verdict' | 'reason'> {
  if (status === null) return { verdict: 'failed', reason: failure ?? 'failed' };
  if (status === 401) return { verdict: 'failed', reason: `${use}_token_refused` };
  // 404 is an answer: there is no such thing.
  if (status >= 400 && status !== 404) return { verdict: 'failed', reason: `http_${status}` };
  return because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because };
}

/** Methods that are safe by definition (RFC 9110, section 9.2.1) change nothing. */
function mayChange(method: string): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method);
}

/** The source in lines of the trace: modules call the business API, as the built-in tools do. */
function labelOf({ source }: Tool): string {
  return source.kind === 'built-in' || source.kind === 'module' ? 'api' : source.name;
}

function identityOf(credential: CallCredential): string {
  if (credential.use === 'none' || credential.use === 'default') return credential.use;
  const named = createHmac('sha256', IDENTITY_KEY).update(credential.token.reveal()).digest('base64url');
  return `${credential.use}:${named}`;
}
