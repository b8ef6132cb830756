import { isObject } from '../../channel/json-object.ts';
import type { Log } from '../process/log.ts';
import type { Clock } from '../time/clock.ts';
import {
  type DecodedToken,
  decodeToken,
  hasLogoutType,
  identifying,
  isMoment,
  isName,
  isWellFormed,
} from './decode-token.ts';
import type { Claims } from './identity.ts';
import type { VerificationKeys } from './keys.ts';
import { type Examination, isAny, makeCheck, TOKEN_CHECKS, type TokenSettings } from './token-checks.ts';

/** What a valid logout token says (OpenID Connect Back-Channel Logout 1.0, §2.4). */
export interface LogoutClaims {
  iss: string;
  jti: string;
  /** Seconds since the epoch. */
  iat: number;
  /** Null if the token names only a session. */
  sub: string | null;
  /** Null: the person is signed out in every tenant. */
  tenant_id: string | null;
  /** The session at the site; null: every session of the person. */
  sid: string | null;
  /** When the logout token expires, ms since the epoch. */
  expires_at: number;
}

/**
 * `unknown`: it is not known whether the token is valid, because the key set cannot be reached.
 */
export type LogoutVerdict =
  | { valid: true; claims: LogoutClaims }
  | { valid: false; reason: string }
  | { valid: 'unknown'; cause: unknown };

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Whether logout tokens are accepted: only if it is certain from whom they come, and that they are meant for this service. */
export function acceptsLogout({
  JWT_ISSUER,
  JWT_AUDIENCE,
}: Pick<TokenSettings, 'JWT_ISSUER' | 'JWT_AUDIENCE'>): boolean {
  return !isAny(JWT_ISSUER) && !isAny(JWT_AUDIENCE);
}

/**
 * Validates logout tokens: the checks of user tokens (TOKEN_CHECKS), with the claims that a logout token must have
 * instead of those of a user. Never throws because of the content of a token, of which nothing is logged.
 */
export function createLogoutValidator(
  settings: TokenSettings,
  keys: VerificationKeys,
  clock: Clock,
  log: Pick<Log, 'warn'>,
) {
  const verify: VerificationKeys['verify'] = (signed) => keys.verify({ ...signed, isLogout: true });
  return {
    async validate(text: string, request_id: string): Promise<LogoutVerdict> {
      const token = decodeToken(text);
      const claims = token.payload && readClaims(token.payload);
      const examined: Examination = {
        token: { ...token, claims: claims && toTimeClaims(token, claims) },
        settings,
        keys: { verify },
        now: clock.now(),
      };
      let reason: string | null = null;
      for (const check of TOKEN_CHECKS) {
        // A user token must not report events; here, the shape decides.
        const own = check.check === 'format' ? { ...check, passes: () => isWellFormed(token) } : check;
        const end = await makeCheck(own, examined);
        if (end.outcome !== 'failed') continue;
        if (end.cause !== undefined) {
          log.warn({ request_id, err: end.cause }, 'a logout token could not be checked');
          return { valid: 'unknown', cause: end.cause };
        }
        reason = end.reason;
        break;
      }
      reason ??= shapeProblem(token);
      if (reason === null && claims !== null) return { valid: true, claims };
      log.warn({ request_id, reason }, 'logout token refused');
      return { valid: false, reason: reason ?? 'Missing Required Claims' };
    },
  };
}

/** What the checks of times read. */
function toTimeClaims({ payload }: DecodedToken, { iat, expires_at }: LogoutClaims): Claims {
  const nbf = payload?.nbf;
  return {
    sub: '',
    email: '',
    exp: expires_at / 1000,
    iat,
    ...(typeof nbf === 'number' ? { nbf } : {}),
  };
}

/** What is wrong with a well-formed token as a logout token; null if nothing is. */
function shapeProblem(token: DecodedToken): string | null {
  const { header, payload } = token;
  if (header !== null && Object.hasOwn(header, 'typ') && !hasLogoutType(token)) return 'Wrong Token Type';
  if (payload === null || !isObject(payload.events) || !isObject(payload.events[EVENT]))
    return 'No Logout Event';
  return Object.hasOwn(payload, 'nonce') ? 'Nonce Not Allowed' : null;
}

/** Null if a claim is missing. */
function readClaims(payload: Readonly<Record<string, unknown>>): LogoutClaims | null {
  const { iss, jti, iat, exp, sub = null, sid = null, tenant_id } = payload;
  if (typeof iss !== 'string' || !isName(jti) || !isMoment(iat) || !isMoment(exp)) return null;
  if (sub === null && sid === null) return null;
  if ((sub !== null && !isName(sub)) || (sid !== null && !isName(sid))) return null;
  return {
    iss,
    jti,
    iat,
    sub,
    sid,
    tenant_id: identifying(tenant_id) ?? null,
    expires_at: Math.floor(exp * 1000),
  };
}
