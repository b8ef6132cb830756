import { type Claims, personKey, type TokenValidator, type TokenVerdict } from '../identity/identity.ts';
import type { Secret } from '../settings/secret.ts';
import {
  askTokenEndpoint,
  TOKEN_EXCHANGE,
  type TokenClient,
  type TokenEndpointAnswer,
  TokenEndpointUnreachable,
} from '../tools/downstream/token-endpoint.ts';

/** The type of the tokens that this service knows (RFC 8693, section 3). */
const JWT = 'urn:ietf:params:oauth:token-type:jwt';

/** What became of the request for a new token. `reason` is a fixed word, for operators. */
export type Asked =
  | { outcome: 'issued'; verdict: Extract<TokenVerdict, { valid: true }> }
  /** The person is no longer signed in at the issuer. */
  | { outcome: 'ended'; reason: string }
  /** The issuer will not renew this token. */
  | { outcome: 'stopped'; reason: string }
  /** The issuer does not accept this service as a client. */
  | { outcome: 'refused'; reason: string; retry_after: number }
  | { outcome: 'failed'; reason: string; retry_after: number; cause?: unknown };

interface AskParts {
  client: TokenClient;
  tokens: TokenValidator;
  timeoutMs: number;
  ended(status: number | string, seconds: number): void;
}

/**
 * Asks the issuer for a new token in place of one that has not expired (RFC 8693). The answer is validated like the token
 * of a message, and must be a token of the same person and audience that expires later.
 */
export async function askForToken(
  { client, tokens, timeoutMs, ended }: AskParts,
  sent: Secret,
  claims: Claims,
): Promise<Asked> {
  const grant = { grant_type: TOKEN_EXCHANGE, subject_token: sent.reveal(), subject_token_type: JWT };
  let answered: TokenEndpointAnswer;
  try {
    answered = await askTokenEndpoint(client, grant, timeoutMs, ended);
  } catch (cause) {
    if (!(cause instanceof TokenEndpointUnreachable)) throw cause;
    return { outcome: 'failed', reason: 'unreachable', retry_after: 0, cause };
  }
  const { status, answer, error, retry_after } = answered;
  const reason = error === '' ? `http_${status}` : error;
  if (status === 401 || status === 403 || (status >= 400 && error === 'invalid_client'))
    return { outcome: 'refused', reason, retry_after };
  if (status === 400 && error === 'invalid_grant') return { outcome: 'ended', reason };
  if (status === 400 && error === 'invalid_request') return { outcome: 'stopped', reason };
  const failed = (why: string): Asked => ({ outcome: 'failed', reason: why, retry_after });
  if (status !== 200) return failed(reason);
  const token = answer?.access_token;
  if (typeof token !== 'string') return failed('no_token');
  const verdict = await tokens.validate(token);
  if (!verdict.valid) return failed('invalid_token');
  if (verdict.person !== personKey(claims)) return failed('other_person');
  if (normalizeAudience(verdict.claims) !== normalizeAudience(claims)) return failed('other_audience');
  if (verdict.claims.exp <= claims.exp) return failed('not_later');
  return { outcome: 'issued', verdict };
}

/** The audience as a set, in a form that can be compared. */
function normalizeAudience({ aud }: Claims): string {
  return JSON.stringify([...new Set([aud ?? []].flat())].sort());
}
