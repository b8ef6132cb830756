import { hash } from 'node:crypto';
import { claimedExpiry, decodeToken } from '../../identity/decode-token.ts';
import { Secret } from '../../settings/secret.ts';
import type { Clock } from '../../time/clock.ts';
import { NO_OBSERVER, type Observer } from '../../trace/observer.ts';
import { isHeaderToken } from './headers.ts';
import { TokenCache, TokenFailure } from './token-cache.ts';
import { askTokenEndpoint, TOKEN_EXCHANGE, type TokenClient } from './token-endpoint.ts';

/** Maximum number of exchanged tokens that are kept; the least recently used token is dropped first. */
const MAX_KEPT = 1_000;
/** A token that has no `expires_in` and no `exp` is assumed to be valid this long, ms. */
const ASSUMED_LIFE_MS = 60_000;
/** A token is no longer used this long before its expiry, ms, because it could expire while a request is on its way. */
const MARGIN_MS = 5_000;

/** How the token of a person is exchanged for a token of another system (RFC 8693, section 2.1). */
export interface ExchangeSettings extends TokenClient {
  readonly audience: string;
}

export type TokenExchange = ReturnType<typeof createTokenExchange>;

interface TokenExchangeOptions {
  clock: Clock;
  timeoutMs: number;
  observer?: Pick<Observer, 'downstreamEnded'>;
  maxKept?: number;
}

/** Keeps exchanged tokens in memory only. */
export function createTokenExchange({
  clock,
  timeoutMs,
  observer = NO_OBSERVER,
  maxKept = MAX_KEPT,
}: TokenExchangeOptions) {
  const cache = new TokenCache(clock, maxKept);

  function obtain(source: string, settings: ExchangeSettings, subject: Secret | null, signal?: AbortSignal) {
    return cache.get(toCacheKey(source, settings.audience, subject), signal, async () => {
      const asked_at = clock.now();
      const { token, expires_in } = await requestExchange(settings, subject, timeoutMs, (status, seconds) =>
        observer.downstreamEnded(source, status, seconds),
      );
      const ends = [
        claimedExpiry(decodeToken(token.reveal())),
        expires_in === null ? null : asked_at + expires_in * 1000,
      ].filter((end) => end !== null);
      if (ends.length === 0) ends.push(asked_at + ASSUMED_LIFE_MS);
      return { token, use_until: Math.min(...ends) - MARGIN_MS };
    });
  }

  return {
    /**
     * Returns the token that represents the person at `source`, from memory or by an exchange. Callers that wait for
     * the same token share one exchange; if one of them aborts, the exchange continues for the others. Rejects with
     * `TokenFailure`, or with the signal's reason.
     */
    async exchange(source: string, settings: ExchangeSettings, subject: Secret, signal?: AbortSignal) {
      signal?.throwIfAborted();
      // Checked before the cache: a kept token is never used after the person's own token has expired.
      const subjectEnd = claimedExpiry(decodeToken(subject.reveal()));
      if (subjectEnd !== null && subjectEnd <= clock.now())
        throw new TokenFailure('subject_expired', 'The sign-in of the person has expired.');
      return obtain(source, settings, subject, signal);
    },
    /**
     * Returns the token that represents this service itself at `source`, for the same client and audience (RFC 6749,
     * section 4.4). No token of a person is involved.
     */
    ownToken: (source: string, settings: ExchangeSettings, signal?: AbortSignal) =>
      obtain(source, settings, null, signal),
    /** Call this if the system answered 401 to this token. The token is then not used again. */
    refused: (token: Secret) => cache.drop(token),
  };
}

/** @param subject null for the token of the service itself */
function toCacheKey(source: string, audience: string, subject: Secret | null): string {
  const digest = subject && hash('sha256', subject.reveal(), 'base64url');
  return JSON.stringify([source, audience, digest]);
}

async function requestExchange(
  { audience, ...client }: ExchangeSettings,
  subject: Secret | null,
  timeoutMs: number,
  ended: (status: number | string, seconds: number) => void,
): Promise<{ token: Secret; expires_in: number | null }> {
  const grant =
    subject === null
      ? { grant_type: 'client_credentials' }
      : {
          grant_type: TOKEN_EXCHANGE,
          subject_token: subject.reveal(),
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        };
  // The request is not bound to one caller's signal, because others may be waiting for the same token.
  const { status, answer, error } = await askTokenEndpoint(
    client,
    { ...grant, audience },
    timeoutMs,
    ended,
  ).catch((cause: unknown) => {
    throw failed('the token endpoint cannot be reached', cause);
  });
  if (status === 400 || status === 401 || status === 403) {
    throw new TokenFailure(
      'exchange_refused',
      subject === null
        ? 'This service is not accepted by the other system.'
        : "The person's sign-in is not accepted by the other system.",
      { cause: new Error(`the token endpoint answered ${status} ${error}`.trim()) },
    );
  }
  const token = answer?.access_token;
  if (status !== 200 || !isHeaderToken(token))
    throw failed(`the token endpoint answered ${status}${status === 200 ? ' without a token' : ''}`);
  // The other system would get a token that the business API accepts.
  if (token === subject?.reveal()) throw failed("the token endpoint answered with the person's own token");
  const type = answer?.token_type;
  // A token of another type cannot be sent as a bearer token (RFC 8693, section 2.2.1).
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer')
    throw failed('the token endpoint answered with a token that is not a bearer token');
  // A server that does not know the lifetime may say null.
  const seconds = Number(answer?.expires_in ?? Number.NaN);
  return { token: new Secret(token), expires_in: Number.isFinite(seconds) ? seconds : null };
}

function failed(why: string, cause?: unknown): TokenFailure {
  return new TokenFailure(
    'exchange_failed',
    'Signing in to the other system is not possible at the moment.',
    {
      cause: new Error(why, cause === undefined ? {} : { cause }),
    },
  );
}
