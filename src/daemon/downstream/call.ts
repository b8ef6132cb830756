import { requestContext } from '../agent/context.ts';
import type { CredentialPolicy } from '../agent/tools.ts';
import type { Secret } from '../secret.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import {
  type Downstream,
  DownstreamFailure,
  type DownstreamRequest,
  type DownstreamResponse,
} from './client.ts';
import { type CredentialChoice, type CredentialSources, chooseCredentials } from './credentials.ts';
import { type DefaultToken, DefaultTokenFailure, TOKEN_PATH } from './default-token.ts';

export type ApiRequest = Pick<DownstreamRequest, 'method' | 'path' | 'query' | 'body'>;

/** What came of a call. No token is in any of it. */
export type ApiAnswer =
  | { outcome: 'answered'; credentials: 'user' | 'default'; status: number; body: unknown }
  /** The policy is `user`, and there is no user's token, or the API did not accept it: nothing was done. */
  | { outcome: 'sign_in_needed' }
  /** `message` is in words that an agent can use. */
  | { outcome: 'failed'; reason: string; message: string };

/** The business API as tools see it: calls with a credential policy, told in the trace of the message. */
export interface BusinessApi {
  /** Whose credentials this message's calls use; asked once per tool call, noted in the trace. */
  credentials(): Promise<CredentialChoice>;
  /**
   * Makes the call under the policy (agentd-api(7), "Credentials"). Where the API answers 401 to a user's token,
   * `user-or-default` tries once more with the default credentials; where it answers 401 to the default token, once
   * more with a new one. Rejects only when the message's signal aborts.
   */
  call(request: ApiRequest, policy: CredentialPolicy, choice: CredentialChoice): Promise<ApiAnswer>;
}

export interface BusinessApiParts extends CredentialSources {
  downstream: Downstream;
  defaultToken: DefaultToken;
}

export function createBusinessApi(parts: BusinessApiParts): BusinessApi {
  const { defaultToken, log } = parts;

  async function withDefault(request: ApiRequest, because: string | null): Promise<ApiAnswer> {
    const signal = requestContext()?.signal;
    let token = await defaultToken.get(signal);
    let response = await attempt(parts, request, { use: 'default', token, because });
    if (response.status === 401) {
      defaultToken.refused(token);
      token = await defaultToken.get(signal);
      response = await attempt(parts, request, { use: 'default', token, because });
    }
    return { outcome: 'answered', credentials: 'default', ...response };
  }

  async function byPolicy(
    request: ApiRequest,
    policy: CredentialPolicy,
    choice: CredentialChoice,
  ): Promise<ApiAnswer> {
    if (policy === 'default') return withDefault(request, null);
    if (choice.use === 'default') {
      if (policy === 'user-or-default') return withDefault(request, choice.reason);
      note({
        verdict: 'refused',
        reason: choice.reason,
        detail: { method: request.method, path: request.path },
      });
      return { outcome: 'sign_in_needed' };
    }
    const response = await attempt(parts, request, { use: 'user', token: choice.token });
    if (response.status !== 401) return { outcome: 'answered', credentials: 'user', ...response };
    const then = policy === 'user' ? 'no call in its stead' : 'default credentials for this call';
    log.warn(
      { request_id: requestContext()?.request_id, path: request.path },
      `the business API refused the user's token: ${then}`,
    );
    return policy === 'user' ? { outcome: 'sign_in_needed' } : withDefault(request, 'user_token_refused');
  }

  return {
    async credentials() {
      const choice = await chooseCredentials(requestContext(), parts);
      const line: Omit<TraceLine, 'at'> = {
        step: 'credentials',
        verdict: 'ok',
        detail: { credentials: choice.use },
      };
      if (choice.use === 'default') Object.assign(line, { verdict: 'fallback', reason: choice.reason });
      requestContext()?.trace.note(line);
      return choice;
    },
    async call(request, policy, choice) {
      try {
        return await byPolicy(request, policy, choice);
      } catch (error) {
        requestContext()?.signal.throwIfAborted();
        if (error instanceof DefaultTokenFailure) {
          note({
            verdict: 'failed',
            reason: error.reason,
            detail: { credentials: 'default', method: 'POST', path: TOKEN_PATH },
          });
        } else if (!(error instanceof DownstreamFailure)) throw error;
        log.warn(
          { request_id: requestContext()?.request_id, path: request.path, reason: error.reason, err: error },
          'call of the business API failed',
        );
        return { outcome: 'failed', reason: error.reason, message: error.message };
      }
    },
  };
}

type Bearer =
  | { use: 'user'; token: Secret }
  /** `because`: why it is not the user's; null where the policy asks for the default credentials. */
  | { use: 'default'; token: Secret; because: string | null };

/** One request, and its line in the trace. */
async function attempt(
  { downstream, clock }: BusinessApiParts,
  request: ApiRequest,
  bearer: Bearer,
): Promise<DownstreamResponse> {
  const started_at = clock.now();
  const detail: TraceLine['detail'] = { credentials: bearer.use, method: request.method, path: request.path };
  const because = bearer.use === 'default' ? bearer.because : null;
  if (because !== null) detail.default_because = because;
  const line = (rest: Pick<TraceLine, 'verdict' | 'reason'>) =>
    note({ ...rest, detail, took_ms: clock.now() - started_at });
  try {
    const response = await downstream.send({
      ...request,
      token: bearer.token,
      signal: requestContext()?.signal,
    });
    detail.status = response.status;
    if (response.status === 401) line({ verdict: 'failed', reason: `${bearer.use}_token_refused` });
    // 404 is an answer: there is no such thing.
    else if (response.status >= 400 && response.status !== 404) {
      line({ verdict: 'failed', reason: `http_${response.status}` });
    } else if (because !== null) line({ verdict: 'fallback', reason: because });
    else line({ verdict: 'ok' });
    return response;
  } catch (error) {
    line({ verdict: 'failed', reason: error instanceof DownstreamFailure ? error.reason : 'aborted' });
    throw error;
  }
}

function note(line: Omit<TraceLine, 'at' | 'step'>): void {
  requestContext()?.trace.note({ step: 'downstream', ...line });
}
