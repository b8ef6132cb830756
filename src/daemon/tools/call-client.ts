import { createHmac, randomBytes } from 'node:crypto';
import { StoreUnavailable } from '../errors.ts';
import { revealAll, type Secret } from '../settings/secret.ts';
import { addLazyMember } from '../syntax/lazy-member.ts';
import { type Bearer, CallBearers, noteFailure } from './call-bearers.ts';
import { fetchForCall } from './call-fetch.ts';
import { CANNOT_CHECK, SESSION_UNREACHABLE } from './call-outcome.ts';
import { beginRequest, type ClientCall, nameOfSource, type OpenCall } from './call-request.ts';
import type { CallCredential } from './choose-credential.ts';
import type { ToolRequest } from './downstream/client.ts';
import { buildUrl, DownstreamFailure, type DownstreamResponse } from './downstream/client.ts';
import { credentialHeader } from './downstream/credential-form.ts';
import { TOKEN_PATH } from './downstream/default-token.ts';
import { isAllowedHeader, isHeaderValue } from './downstream/headers.ts';
import { sendRenewing } from './downstream/send-renewing.ts';
import { TokenFailure } from './downstream/token-cache.ts';
import { reduceResult } from './reduce-result.ts';
import type { SourceTarget, Tool, ToolClient, ToolResponse } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** The key of the HMAC in `identity`. It is different in each process. */
const IDENTITY_KEY = randomBytes(32);

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

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
  readonly #open: OpenCall;
  readonly #credential: CallCredential;

  constructor(tool: Tool, credential: CallCredential, call: ClientCall, access: ToolAccess) {
    this.#open = { ...call, tool, access, bearers: new CallBearers(tool, credential, call, access) };
    this.#credential = credential;
    const client = {
      request: (request: ToolRequest) => this.#request(request),
      fetch: (input: string | URL | Request, init?: RequestInit) => fetchForCall(this.#open, input, init),
      credentials: credential.use,
    };
    // The hash costs time, and few sources need it.
    this.client = Object.freeze(addLazyMember(client, 'identity', () => identify(credential)));
  }

  /** Whether default credentials were handed out, so that an answer may have been made with them. */
  get usedDefault(): boolean {
    return this.#open.bearers.usedDefault;
  }

  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  get secrets(): readonly Secret[] {
    return this.#open.bearers.secrets;
  }

  async #request(request: ToolRequest): Promise<ToolResponse> {
    this.#open.signal.throwIfAborted();
    const { target } = this.#open.tool.source;
    if (target === null) return this.#fail('no_address', 'There is no API that this tool can call.');
    const refused = refusedHeader(request, target);
    if (refused !== undefined)
      return this.#fail('header_refused', `The header \`${refused}\` may not be set.`);
    try {
      return this.#reduce(await this.#sendByPolicy(request, target));
    } catch (error) {
      this.#open.signal.throwIfAborted();
      // The token may have ended, which the store cannot say.
      if (error instanceof StoreUnavailable) return this.#notChecked(error);
      if (error instanceof TokenFailure) this.#noteTokenFailure(error);
      else if (!(error instanceof DownstreamFailure)) throw error;
      const { reason, message } = error;
      // If the call was only too slow, the stack is useless.
      const detail = { tool: this.#open.tool.name, reason, ...(reason === 'timeout' ? {} : { err: error }) };
      this.#open.log.warn(detail, 'call of the business API failed');
      return this.#fail(reason, message, error instanceof DownstreamFailure && error.reached);
    }
  }

  #notChecked(err: StoreUnavailable): ToolResponse {
    const { log, tool, trace } = this.#open;
    log.warn({ tool: tool.name, reason: SESSION_UNREACHABLE, err }, 'call of the business API was not made');
    noteFailure(trace, SESSION_UNREACHABLE, { credentials: this.#credential.use, tool: tool.name });
    return this.#fail(SESSION_UNREACHABLE, CANNOT_CHECK);
  }

  #noteTokenFailure({ reason }: TokenFailure): void {
    const detail =
      this.#credential.use === 'exchange'
        ? { credentials: 'exchange' }
        : { credentials: 'default', method: 'POST', path: TOKEN_PATH };
    noteFailure(this.#open.trace, reason, detail);
  }

  /**
   * Sends a request with the credential of the policy. After a 401 to a person's token, sends it again with default
   * credentials if the policy allows it (agentd-agent(7), "Credentials").
   */
  async #sendByPolicy(request: ToolRequest, target: SourceTarget): Promise<ToolResponse> {
    const { bearers } = this.#open;
    const renew = (bearer: Bearer) => bearers.renew(bearer);
    const send = (bearer: Bearer) => this.#sendOnce(request, target, bearer);
    const sent = await sendRenewing({ obtain: () => bearers.chosen(), renew }, send);
    if (sent === null) return { outcome: 'sign_in_needed' };
    const { token: bearer, answer } = sent;
    if (answer.status !== 401 || bearer.use === 'none' || bearer.use === 'default')
      return { outcome: 'answered', credentials: bearer.use, ...answer };
    const fallsBack = this.#credential.use === 'user' && this.#credential.fallback;
    this.#open.log.warn(
      { tool: this.#open.tool.name },
      `the business API refused the user's token: ${fallsBack ? 'default credentials for this call' : 'the call was not repeated with default credentials'}`,
    );
    if (!fallsBack) return { outcome: 'sign_in_needed' };
    const second = await sendRenewing({ obtain: () => bearers.default('user_token_refused'), renew }, send);
    if (second === null) return { outcome: 'sign_in_needed' };
    return { outcome: 'answered', credentials: 'default', ...second.answer };
  }

  async #sendOnce(request: ToolRequest, target: SourceTarget, bearer: Bearer): Promise<DownstreamResponse> {
    const { tool, access, signal, acts_for = null } = this.#open;
    const { method, path, headers = {} } = request;
    const isBuiltIn = tool.source.kind === 'built-in';
    const mayChange = !SAFE_METHODS.includes(method);
    const body = request.encoded?.shown ?? request.body;
    const shown = () => ({ url: buildUrl(target.base_url, request).href, headers, body });
    const begun = beginRequest(this.#open, bearer, { method, path, shown });
    const { traceparent } = begun;
    try {
      const response = await access.getDownstream(nameOfSource(tool), target).send({
        ...request,
        headers: {
          ...headers,
          ...(traceparent === null ? {} : { traceparent }),
          ...revealAll(target.headers),
        },
        token: bearer.token,
        person: acts_for,
        credential: target.credential,
        secrets: this.secrets,
        redirects: isBuiltIn ? 'within_origin' : 'none',
        expects: isBuiltIn ? 'json' : 'text',
        signal,
      });
      const { status } = response;
      this.status = status;
      // A 4xx means that the request was not carried out.
      if (mayChange && (status < 400 || status >= 500)) this.changed = true;
      begun.end(status);
      return response;
    } catch (error) {
      const isFailure = error instanceof DownstreamFailure;
      if (mayChange && (!isFailure || error.reached)) this.changed = true;
      begun.end({ failure: isFailure ? error.reason : 'aborted' });
      throw error;
    }
  }

  /**
   * The answer that a module sees. Under default credentials, it has only the public fields of the body; a 4xx has no
   * body.
   */
  #reduce(response: ToolResponse): ToolResponse {
    if (this.#open.tool.source.kind !== 'module' || response.outcome !== 'answered') return response;
    if (response.credentials !== 'default') return response;
    const body = response.status >= 400 ? null : reduceResult(response.body, this.#open.tool.public);
    return { ...response, body };
  }

  #fail(reason: string, message: string, reached = false): ToolResponse {
    this.failure = message;
    return { outcome: 'failed', reached, reason, message };
  }
}

function identify(credential: CallCredential): string {
  if (credential.use === 'none' || credential.use === 'default') return credential.use;
  const named = createHmac('sha256', IDENTITY_KEY).update(credential.token.reveal()).digest('base64url');
  return `${credential.use}:${named}`;
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
