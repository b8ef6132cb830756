import type { UserContext } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Settings } from '../settings/settings.ts';
import { type JwtContext, type Session, tagOf } from './session.ts';

/**
 * The record that a session's sealed token is bound to: the session's tag, and the channel user who brought the token.
 */
export function sealRecord(tag: string, user_id: string): string {
  return `session:${JSON.stringify([tag, user_id])}`;
}

/** `metadata.jwt_context` for a validated token, in the documented form, with the token sealed. */
export function jwtContext(user: UserContext, expires_at: number, seal: Seal, record: string): JwtContext {
  return {
    has_jwt: true,
    user_id: user.user_id,
    email: user.email,
    token: seal.close(user.token.reveal(), record),
    token_exp: new Date(expires_at).toISOString(),
  };
}

/** The unsealed token of a session's context; null if there is none or if no key opens it. */
export function storedToken(session: Session, seal: Seal): string | null {
  const context = session.metadata.jwt_context;
  if (!context || !session.credential_owner) return null;
  return seal.open(context.token, sealRecord(tagOf(session), session.credential_owner.user_id));
}

export type ExpirySettings = Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>;

/** Whether the stored token has expired. Always false if JWT_VERIFY_EXP is off (agentd-identity(7), "Checks"). */
export function hasExpired(context: JwtContext, settings: ExpirySettings, now: number): boolean {
  if (!settings.JWT_VERIFY_EXP) return false;
  const expires_at = Date.parse(context.token_exp) + settings.JWT_CLOCK_SKEW_SECONDS * 1000;
  // If the date cannot be read, the token counts as expired.
  return !(expires_at > now);
}
