import type { UntrustedObject } from '../daemon/identity/claims.ts';
import { claimedExpiry, decodeToken } from '../daemon/identity/decode-token.ts';
import type { TokenReason, UserContext } from '../daemon/identity/identity.ts';
import type { VerificationKeys } from '../daemon/identity/signature.ts';
import { type Step, type TokenSettings, walkChecks } from '../daemon/identity/token-checks.ts';
import { isoTimeOrNull } from './time-words.ts';

/** The output of `token verify --json`. */
export interface TokenReport {
  valid: boolean;
  /** Null if the token is valid. */
  reason: TokenReason | null;
  /** The position of the key that the token is signed with, from 1. Null if no key fits, or if there is only one. */
  key: number | null;
  /** `ok` is null if the check was not made: an earlier one failed, or a setting turned it off. */
  steps: { check: string; ok: boolean | null }[];
  /** The claims, if they can be decoded. The claims of an invalid token are not to be trusted. */
  claims: UntrustedObject | null;
  /** Null if the token is invalid. The token itself is never shown. */
  user: Omit<UserContext, 'token'> | null;
  /** ISO 8601 UTC; null if the token has no expiry. */
  expires_at: string | null;
}

/** Runs all checks of the documented sequence. @param now ms since the epoch */
export async function examineToken(
  token: string,
  settings: TokenSettings,
  keys: VerificationKeys,
  now: number,
): Promise<{ report: TokenReport; steps: Step[] }> {
  const decoded = decodeToken(token);
  const steps: Step[] = [];
  for await (const step of walkChecks({ token: decoded, settings, keys, now })) steps.push(step);
  const failed = steps.find((step) => step.outcome === 'failed');
  const { claims } = decoded;
  const expiry = claimedExpiry(decoded);
  const report = {
    valid: !failed,
    reason: failed?.reason ?? null,
    key: steps.reduce<number | null>((key, step) => (step.outcome === 'ok' ? (step.key ?? key) : key), null),
    steps: steps.map(({ check, outcome }) => ({ check, ok: isOk(outcome) })),
    claims: decoded.payload,
    user: failed || !claims ? null : { user_id: claims.sub, email: claims.email, roles: claims.roles ?? [] },
    expires_at: isoTimeOrNull(expiry),
  };
  return { report, steps };
}

function isOk(outcome: Step['outcome']): boolean | null {
  if (outcome === 'ok') return true;
  return outcome === 'failed' ? false : null;
}
