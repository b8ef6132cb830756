import type {
  ExaminedToken,
  Step,
  TokenReason,
  UntrustedObject,
  UserContext,
} from '../daemon/admin/tokens.ts';
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

export function tokenReport({ steps, failed, claims, payload, expires_at }: ExaminedToken): TokenReport {
  return {
    valid: !failed,
    reason: failed?.reason ?? null,
    key: steps.reduce<number | null>((key, step) => (step.outcome === 'ok' ? (step.key ?? key) : key), null),
    steps: steps.map(({ check, outcome }) => ({ check, ok: isOk(outcome) })),
    claims: payload,
    user: failed || !claims ? null : { user_id: claims.sub, email: claims.email, roles: claims.roles ?? [] },
    expires_at: isoTimeOrNull(expires_at),
  };
}

function isOk(outcome: Step['outcome']): boolean | null {
  if (outcome === 'ok') return true;
  return outcome === 'failed' ? false : null;
}
