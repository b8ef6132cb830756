import type { Log } from '../process/log.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../time/clock.ts';
import type { Observer } from '../trace/observer.ts';
import { type DecodedToken, decodeToken, isWellFormed, reportsEvents } from './decode-token.ts';
import {
  type Claims,
  personKey,
  type SignOutMarks,
  type TokenReason,
  type TokenValidator,
  type TokenVerdict,
} from './identity.ts';
import type { KeyFit, VerificationKeys } from './keys.ts';

export type TokenSettings = Pick<
  Settings,
  | 'JWT_ALGORITHM'
  | 'JWT_VERIFY_SIGNATURE'
  | 'JWT_VERIFY_EXP'
  | 'JWT_ISSUER'
  | 'JWT_AUDIENCE'
  | 'JWT_CLOCK_SKEW_SECONDS'
>;

/** The input of all checks. */
export interface Examination {
  token: DecodedToken;
  settings: TokenSettings;
  keys: VerificationKeys;
  /** ms since the epoch. */
  now: number;
}

interface TokenCheck {
  /** Name for people and for `token verify --json`; stable. */
  check: string;
  /** Why the token is invalid if this check fails. */
  reason: TokenReason;
  /** The setting that has switched the check off; null if none has. */
  off?(settings: TokenSettings): string | null;
  /** Reads only values that earlier checks have checked. Fails if such a value is absent anyway. */
  passes(examination: Examination): KeyFit | Promise<KeyFit>;
}

/**
 * The token validation decision sequence (agentd-identity(7), "Checks"). The first check that fails gives the reason.
 * The list is used in two ways: the daemon (createValidator) stops at the first failure; `agentd token verify` shows every
 * step (walkChecks).
 */
export const TOKEN_CHECKS: readonly TokenCheck[] = [
  {
    check: 'format',
    reason: 'JWT Malformed',
    passes: ({ token }) => isWellFormed(token) && !reportsEvents(token),
  },
  {
    // Checked before the signature, and even if the signature is not checked: the token must not choose how it is
    // checked.
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

/** True if the setting is `*` or unset: a token may then have any issuer (or audience), or none. */
export function isAny(expected: string | undefined): expected is undefined | '*' {
  return expected === undefined || expected === '*';
}

/**
 * The outcome of one check. `key` is the position of the key that fits, if there are several. `cause` is set if the
 * check could not be run, which counts as failed.
 */
type CheckOutcome =
  | { outcome: 'ok'; key?: number }
  | { outcome: 'off'; setting: string }
  | { outcome: 'failed'; reason: TokenReason; cause?: unknown };

/**
 * Runs one check; never throws or rejects. A check that cannot be run (a key set that cannot be reached) fails. Only a
 * check that waits for something returns a promise.
 */
export function makeCheck(check: TokenCheck, examination: Examination): CheckOutcome | Promise<CheckOutcome> {
  const setting = check.off?.(examination.settings);
  if (setting) return { outcome: 'off', setting };
  const { reason } = check;
  try {
    const fit = check.passes(examination);
    if (!(fit instanceof Promise)) return toOutcome(fit, reason);
    return fit.then(
      (found) => toOutcome(found, reason),
      (cause: unknown) => ({ outcome: 'failed', reason, cause }),
    );
  } catch (cause) {
    return { outcome: 'failed', reason, cause };
  }
}

function toOutcome(fit: KeyFit, reason: TokenReason): CheckOutcome {
  if (typeof fit === 'number') return { outcome: 'ok', key: fit };
  return fit ? { outcome: 'ok' } : { outcome: 'failed', reason };
}

export type WalkedCheck = { check: string } & (CheckOutcome | { outcome: 'not reached' });

/** The whole sequence with the outcome of each check; checks after the first failure are not reached. */
export async function* walkChecks(examination: Examination): AsyncGenerator<WalkedCheck> {
  let failed = false;
  for (const entry of TOKEN_CHECKS) {
    const end: CheckOutcome | { outcome: 'not reached' } = failed
      ? { outcome: 'not reached' }
      : await makeCheck(entry, examination);
    failed ||= end.outcome === 'failed';
    yield { check: entry.check, ...end };
  }
}

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
      const made = makeCheck(check, examination);
      const end = made instanceof Promise ? await made : made;
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

/**
 * Wraps a validator, so that a token which ended with a sign-out at the site is not valid, and not known as the expired
 * token of its person either.
 */
export function markedValidator(
  validator: TokenValidator,
  marks: SignOutMarks,
  log: Pick<Log, 'warn'>,
): TokenValidator {
  return {
    async validate(token, request_id) {
      const verdict = await validator.validate(token, request_id);
      const claims = verdict.valid ? verdict.claims : verdict.expired && decodeToken(token).claims;
      if (!claims || !(await marks.covers(claims))) return verdict;
      if (!verdict.valid) return { valid: false, reason: verdict.reason };
      const reason = 'Signed Out';
      log.warn({ ...(request_id === undefined ? {} : { request_id }), reason }, `token refused: ${reason}`);
      return { valid: false, reason };
    },
  };
}

/** Wraps a validator, to report the result of each validation to the observer. */
export function observedValidator(
  validator: TokenValidator,
  observer: Pick<Observer, 'tokenChecked'>,
): TokenValidator {
  return {
    async validate(token, request_id) {
      const verdict = await validator.validate(token, request_id);
      observer.tokenChecked(
        verdict.valid ? 'valid' : verdict.reason,
        verdict.valid ? verdict.key : undefined,
      );
      return verdict;
    },
  };
}
