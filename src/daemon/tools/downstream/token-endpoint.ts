import { jsonObjectOrNull } from '../../../channel/json-object.ts';
import type { Secret } from '../../settings/secret.ts';
import { systemClock } from '../../time/clock.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import { MAX_RESPONSE_BYTES } from './client.ts';
import { BodyTooLong, httpRequest } from './http-request.ts';

/** The grant type of a token exchange (RFC 8693, section 2.1). */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** A token endpoint, and this service as its client (RFC 6749, sections 2.3.1, 3.2). */
export interface TokenClient {
  readonly url: string;
  readonly client_id: string;
  readonly client_secret: Secret;
}

export interface TokenEndpointAnswer {
  status: number;
  /** The members of the answer; null if it is not a JSON object. */
  answer: Readonly<Record<string, unknown>> | null;
  /**
   * The code of the error (RFC 6749, section 5.2), which is a fixed word; empty if there is none. The description may
   * quote the request, so it is not read.
   */
  error: string;
  /** `Retry-After` in seconds; 0 if there is none. */
  retry_after: number;
}

/** The endpoint gave no answer. */
export class TokenEndpointUnreachable extends Error {
  constructor(cause: unknown) {
    super('the token endpoint cannot be reached', { cause });
    this.name = 'TokenEndpointUnreachable';
  }
}

/**
 * Makes one request to a token endpoint. Redirects are not followed: only the configured address may see the tokens.
 * @param grant the parameters of the request, besides the client
 * @param ended is called with the status of the answer, or with the failure
 * @throws TokenEndpointUnreachable
 */
export async function askTokenEndpoint(
  { url, client_id, client_secret }: TokenClient,
  grant: Readonly<Record<string, string>>,
  timeoutMs: number,
  ended: (status: number | string, seconds: number) => void,
): Promise<TokenEndpointAnswer> {
  const headers = {
    accept: 'application/json',
    authorization: basic(client_id, client_secret),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const limit = new TimeLimit(systemClock, timeoutMs);
  const body = new URLSearchParams(grant).toString();
  const request = { method: 'POST', headers, body, owner: body, limit, maxBytes: MAX_RESPONSE_BYTES };
  const began = performance.now();
  const end = (how: number | string) => ended(how, (performance.now() - began) / 1000);
  const response = await httpRequest(new URL(url), request)
    .catch((cause: unknown) => {
      end(cause instanceof BodyTooLong ? cause.status : limit.passed ? 'timeout' : 'unreachable');
      throw new TokenEndpointUnreachable(cause);
    })
    .finally(() => limit.lift());
  end(response.status);
  const answer = jsonObjectOrNull(response.body.toString('utf8'));
  const { error } = answer ?? {};
  const seconds = Number(response.headers['retry-after']);
  return {
    status: response.status,
    answer,
    error: typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : '',
    retry_after: Number.isFinite(seconds) && seconds > 0 ? seconds : 0,
  };
}

/** Client credentials in the header (RFC 6749, section 2.3.1). */
function basic(client_id: string, client_secret: Secret): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(client_id)}:${encode(client_secret.reveal())}`).toString('base64')}`;
}
