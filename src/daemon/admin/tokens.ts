import { claimedExpiry, decodeToken, isWellFormed, TOKEN_MAX } from '../identity/decode-token.ts';
import {
  NO_MARKS,
  type SignOutMarks,
  type TokenValidator,
  type TokenVerdict,
  type UserContext,
} from '../identity/identity.ts';
import { importKeys, signingSecret } from '../identity/keys.ts';
import {
  createValidator,
  isAny,
  markedValidator,
  type WalkedCheck,
  walkChecks,
} from '../identity/token-checks.ts';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { systemClock } from '../time/clock.ts';

/** Whether a token may be sent to an address. */
export { isSecureAddress } from '../settings/addresses.ts';
/** User tokens: the checks of the daemon, what a token claims, and signing one for debugging. */
export type { SignOutMarks, TokenValidator, UserContext, WalkedCheck };
export { claimedExpiry, decodeToken, isWellFormed, TOKEN_MAX };

export type ValidToken = Extract<TokenVerdict, { valid: true }>;

/**
 * The validator of the daemon, with the keys of these settings.
 * @param log default: nothing is logged, because the caller reports the reason
 * @param marks sign-outs at the site; default: none, because what is done with the token asks for them
 * @throws ConfigurationError
 */
export async function tokenValidator(
  settings: Settings,
  log: Pick<Log, 'info' | 'warn'> = { info() {}, warn() {} },
  marks: SignOutMarks = NO_MARKS,
): Promise<TokenValidator> {
  const validator = createValidator(settings, await importKeys(settings), systemClock, log);
  return markedValidator(validator, marks, log);
}

/** The outcome of every check of one token, and what the token claims. */
export type ExaminedToken = Awaited<ReturnType<Awaited<ReturnType<typeof tokenExaminer>>>>;

/** Loads the keys of these settings. @returns makes all checks of a token @throws ConfigurationError */
export async function tokenExaminer(settings: Settings) {
  const keys = await importKeys(settings);
  return async (token: string) => {
    const decoded = decodeToken(token);
    const steps: WalkedCheck[] = [];
    for await (const step of walkChecks({ token: decoded, settings, keys, now: systemClock.now() }))
      steps.push(step);
    const failed = steps.find((step) => step.outcome === 'failed');
    return {
      steps,
      failed,
      // As far as the token can be decoded. The claims of an invalid token are not to be trusted.
      payload: decoded.payload,
      claims: decoded.claims,
      expires_at: claimedExpiry(decoded),
    };
  };
}

/** The claims that the settings demand of every token. */
export function demandedClaims({ JWT_ISSUER: iss, JWT_AUDIENCE: aud }: Settings): {
  iss?: string;
  aud?: string;
} {
  return { ...(isAny(iss) ? {} : { iss }), ...(isAny(aud) ? {} : { aud }) };
}

/**
 * Signs claims with the shared secret of the settings, the first one if there are several. The daemon must accept the
 * tokens, so the secret passes the same check as in the daemon.
 * @returns signs one token @throws ConfigurationError
 */
export async function tokenSigner(
  settings: Settings,
  secret: Secret,
): Promise<(claims: Readonly<Record<string, unknown>>) => Promise<string>> {
  await importKeys({ ...settings, JWT_VERIFY_SIGNATURE: true });
  const { signToken } = await import('../identity/jose.ts');
  return (claims) => signToken(claims, signingSecret(secret));
}
