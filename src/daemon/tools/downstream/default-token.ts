import { claimedExpiry, decodeToken } from '../../identity/decode-token.ts';
import { Secret } from '../../settings/secret.ts';
import type { Clock } from '../../time/clock.ts';
import type { Downstream } from './client.ts';
import { isHeaderToken } from './headers.ts';
import { TokenCache, TokenFailure } from './token-cache.ts';

/** The path from which the API issues the default token (agentd-api(7), "Requests to the API"). */
export const TOKEN_PATH = '/authentication_token';

/** A token without `exp` is assumed to be valid this long, ms (agentd-api(7), "The default token"). */
const ASSUMED_LIFE_MS = 24 * 3_600_000;
const RENEW_BEFORE_MS = 5 * 60_000;
/**
 * How long a token is used if it has already expired when it arrives, ms: long enough for the callers that wait for it.
 */
const EXPIRED_LIFE_MS = 250;

export type DefaultToken = ReturnType<typeof createDefaultToken>;

interface DefaultTokenOptions {
  downstream: Downstream;
  email: string | undefined;
  password: Secret | undefined;
  clock: Clock;
}

/**
 * The token of the default credentials, `API_EMAIL` and `API_PASSWORD`, cached (agentd-api(7), "The default token").
 */
export function createDefaultToken({ downstream, email, password, clock }: DefaultTokenOptions) {
  const cache = new TokenCache(clock, 1);
  const obtain = async () => {
    try {
      const token = await requestToken(downstream, email, password);
      return { token, use_until: useUntil(token, clock.now()) };
    } catch (error) {
      throw error instanceof TokenFailure ? error : failed(error);
    }
  };
  return {
    /**
     * The cached token, or a new one. A token is fetched only once, even if several callers wait for it. Rejects with
     * `TokenFailure`, or with the signal's reason; if one caller aborts, the fetch continues for the others. A failure
     * is not cached: the next message tries again.
     */
    get: (signal?: AbortSignal) => cache.get('', signal, obtain),
    /** Call this if the API answered 401 to this token: `get` then fetches another token. */
    refused: (token: Secret) => cache.drop(token),
  };
}

function failed(cause: unknown): TokenFailure {
  return new TokenFailure(
    'default_token_failed',
    'Signing in to the business API is not possible at the moment.',
    { cause },
  );
}

async function requestToken(downstream: Downstream, email?: string, password?: Secret): Promise<Secret> {
  if (!email || !password) {
    throw new TokenFailure(
      'default_credentials_missing',
      'This service has no default credentials for the business API.',
    );
  }
  // The request is not bound to the signal of one message, because others may be waiting for the same token.
  const { status, body } = await downstream.send({
    method: 'POST',
    path: TOKEN_PATH,
    body: { email, password: password.reveal() },
    token: null,
  });
  if (status === 400 || status === 401 || status === 403) {
    throw new TokenFailure(
      'default_credentials_refused',
      'The business API does not accept the default credentials of this service.',
    );
  }
  const { token, access_token } = (body ?? {}) as { token?: unknown; access_token?: unknown };
  const found = isHeaderToken(token) ? token : access_token;
  if (status >= 300 || !isHeaderToken(found)) {
    throw failed(new Error(`${TOKEN_PATH} answered ${status}${status < 300 ? ' without a token' : ''}`));
  }
  return new Secret(found);
}

/**
 * The time until which a token is used: 5 minutes before it expires (agentd-api(7), "The default token"). A token that
 * expires sooner is used only by the callers that wait for it now.
 */
function useUntil(token: Secret, now: number): number {
  const end = claimedExpiry(decodeToken(token.reveal())) ?? now + ASSUMED_LIFE_MS;
  // The API has just issued the token. If it already seems to have expired, a clock is wrong, and asking more often
  // does not help.
  return end <= now ? now + EXPIRED_LIFE_MS : end - RENEW_BEFORE_MS;
}
