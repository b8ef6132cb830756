import type { Log } from '../process/log.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../time/clock.ts';
import { type DecodedToken, decodeToken } from './decode-token.ts';
import {
  type Claims,
  personKey,
  type TokenReason,
  type TokenValidator,
  type TokenVerdict,
} from './identity.ts';
import type { VerificationKeys } from './signature.ts';
import { makeCheck, TOKEN_CHECKS, type TokenCheck, type TokenSettings } from './token-checks.ts';

/** Why a token was refused; `cause` is set if a check could not be run. */
interface Refusal {
  reason: TokenReason;
  cause?: unknown;
}

/** The end of the checks. `key` is the position of the key that fits, if there are several. */
interface Examined {
  refusal: Refusal | null;
  key?: number;
}

const AFTER_EXPIRY = TOKEN_CHECKS.slice(
  TOKEN_CHECKS.findIndex(({ reason }) => reason === 'Token Expired') + 1,
);

/**
 * The daemon's validator: it runs the decision sequence up to the first failure, and logs a warning with the reason
 * (agentd-identity(7), "Checks"). With JWT_DEBUG it also logs the claims and the decision. Of the text of the token, it
 * logs at most the first 8 characters and a short hash.
 */
export function createValidator(
  settings: TokenSettings & Pick<Settings, 'JWT_DEBUG'>,
  keys: VerificationKeys,
  clock: Clock,
  log: Pick<Log, 'info' | 'warn'>,
): TokenValidator {
  async function examine(
    token: DecodedToken,
    checks: readonly TokenCheck[] = TOKEN_CHECKS,
  ): Promise<Examined> {
    const examination = { token, settings, keys, now: clock.now() };
    const fit: { key?: number } = {};
    for (const check of checks) {
      const end = await makeCheck(check, examination);
      if (end.outcome === 'failed') return { ...fit, refusal: end };
      if (end.outcome === 'ok' && end.key !== undefined) fit.key = end.key;
    }
    return { ...fit, refusal: null };
  }

  async function refuse(token: DecodedToken, reason: TokenReason): Promise<TokenVerdict> {
    const refused = { valid: false, reason } as const;
    if (reason !== 'Token Expired' || token.claims === null) return refused;
    if ((await examine(token, AFTER_EXPIRY)).refusal !== null) return refused;
    const at = (token.claims.exp + settings.JWT_CLOCK_SKEW_SECONDS) * 1000;
    return { ...refused, expired: { person: personKey(token.claims), at } };
  }

  return {
    async validate(token, request_id) {
      const request = request_id === undefined ? {} : { request_id };
      const decoded = decodeToken(token);
      const { refusal, ...fit } = await examine(decoded);
      if (settings.JWT_DEBUG) {
        const decision = refusal?.reason ?? 'valid';
        log.info(
          { ...request, token: new Secret(token).hint(), claims: decoded.payload, decision, ...fit },
          'token checked',
        );
      }
      if (!refusal && decoded.claims) return { ...accept(token, decoded.claims), ...fit };
      const { reason, cause } = refusal ?? { reason: 'Missing Required Claims' };
      const why = cause === undefined ? { reason } : { reason, err: cause };
      log.warn({ ...request, ...why }, `token refused: ${reason}`);
      return refuse(decoded, reason);
    },
  };
}

function accept(token: string, claims: Claims): Extract<TokenVerdict, { valid: true }> {
  return {
    valid: true,
    user: { user_id: claims.sub, email: claims.email, roles: claims.roles ?? [], token: new Secret(token) },
    claims,
    person: personKey(claims),
    expires_at: Math.floor(claims.exp * 1000),
  };
}
