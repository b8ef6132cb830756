import type { Settings } from '../settings/settings.ts';
import { type DecodedToken, isWellFormed } from './decode-token.ts';
import type { TokenReason } from './identity.ts';
import type { VerificationKeys } from './signature.ts';

export type TokenSettings = Pick<
  Settings,
  | 'JWT_ALGORITHM'
  | 'JWT_VERIFY_SIGNATURE'
  | 'JWT_VERIFY_EXP'
  | 'JWT_ISSUER'
  | 'JWT_AUDIENCE'
  | 'JWT_CLOCK_SKEW_SECONDS'
>;

/** All that the checks look at. */
export interface Examination {
  token: DecodedToken;
  settings: TokenSettings;
  keys: VerificationKeys;
  /** ms since the epoch. */
  now: number;
}

export interface TokenCheck {
  /** Name for people and for `token verify --json`; stable. */
  check: string;
  /** Why the token is no use where this check fails. */
  reason: TokenReason;
  /** The setting that has switched it off, if one has. */
  off?(settings: TokenSettings): string | null;
  /** Reads only what earlier checks have passed; what is absent all the same fails. */
  passes(examination: Examination): boolean | Promise<boolean>;
}

/**
 * The token validation decision sequence (agentd-identity(7), "Checks"). The first check that fails gives the reason.
 * Two read this list: the daemon (validator.ts) stops at the first failure, `agentd token verify` shows every step
 * (walkChecks).
 */
export const TOKEN_CHECKS: readonly TokenCheck[] = [
  {
    check: 'format',
    reason: 'JWT Malformed',
    passes: ({ token }) => isWellFormed(token),
  },
  {
    // Before the signature, and also if that is not checked: the token must not choose how it is checked.
    check: 'algorithm',
    reason: 'Algorithm Not Allowed',
    passes: ({ token, settings }) => token.header?.alg === settings.JWT_ALGORITHM,
  },
  {
    check: 'signature',
    reason: 'Invalid Signature',
    off: (settings) => (settings.JWT_VERIFY_SIGNATURE ? null : 'JWT_VERIFY_SIGNATURE'),
    passes: ({ token, keys }) =>
      keys.verify({ signed: token.signed, signature: token.signature, kid: token.header?.kid }),
  },
  {
    check: 'required claims',
    reason: 'Missing Required Claims',
    passes: ({ token }) => token.claims !== null,
  },
  {
    check: 'expiry',
    reason: 'Token Expired',
    off: (settings) => (settings.JWT_VERIFY_EXP ? null : 'JWT_VERIFY_EXP'),
    passes: ({ token, settings, now }) =>
      token.claims !== null && (token.claims.exp + settings.JWT_CLOCK_SKEW_SECONDS) * 1000 > now,
  },
  {
    check: 'not before',
    reason: 'Token Not Yet Valid',
    passes: ({ token, settings, now }) =>
      [token.claims?.nbf, token.claims?.iat].every(
        (from = 0) => (from - settings.JWT_CLOCK_SKEW_SECONDS) * 1000 <= now,
      ),
  },
  {
    check: 'issuer',
    reason: 'Invalid Issuer',
    passes: ({ token, settings }) => isAny(settings.JWT_ISSUER) || token.payload?.iss === settings.JWT_ISSUER,
  },
  {
    check: 'audience',
    reason: 'Invalid Audience',
    passes: ({ token, settings }) =>
      isAny(settings.JWT_AUDIENCE) || [token.payload?.aud].flat().includes(settings.JWT_AUDIENCE),
  },
];

/** `*` says on purpose that any issuer or audience will do, as an unset setting says by default; none will, too. */
export function isAny(expected: string | undefined): expected is undefined | '*' {
  return expected === undefined || expected === '*';
}

/** How one check ended. `cause`: it could not be made, and so counts as failed. */
export type CheckOutcome =
  | { outcome: 'ok' }
  | { outcome: 'off'; setting: string }
  | { outcome: 'failed'; reason: TokenReason; cause?: unknown };

/** Makes one check; never throws. A check that cannot be made (a key set out of reach) fails. */
export async function makeCheck(check: TokenCheck, examination: Examination): Promise<CheckOutcome> {
  const setting = check.off?.(examination.settings);
  if (setting) return { outcome: 'off', setting };
  try {
    return (await check.passes(examination))
      ? { outcome: 'ok' }
      : { outcome: 'failed', reason: check.reason };
  } catch (cause) {
    return { outcome: 'failed', reason: check.reason, cause };
  }
}

export type Step = { check: string } & (CheckOutcome | { outcome: 'not reached' });

/** The whole sequence with the outcome of each check; those after the first failure are not reached. */
export async function* walkChecks(examination: Examination): AsyncGenerator<Step> {
  let failed = false;
  for (const entry of TOKEN_CHECKS) {
    const end: CheckOutcome | { outcome: 'not reached' } = failed
      ? { outcome: 'not reached' }
      : await makeCheck(entry, examination);
    failed ||= end.outcome === 'failed';
    yield { check: entry.check, ...end };
  }
}
