import type { Credential, Principal, UserContext } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Settings } from '../settings/settings.ts';
import { type JwtContext, type Session, sessionTag } from './session.ts';

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
  return seal.open(context.token, sealRecord(sessionTag(session), session.credential_owner.user_id));
}

export type ExpirySettings = Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>;

/** Whether the stored token has expired. Always false if JWT_VERIFY_EXP is off (agentd-identity(7), "Checks"). */
export function hasExpired(context: JwtContext, settings: ExpirySettings, now: number): boolean {
  if (!settings.JWT_VERIFY_EXP) return false;
  const expires_at = Date.parse(context.token_exp) + settings.JWT_CLOCK_SKEW_SECONDS * 1000;
  // If the date cannot be read, the token counts as expired.
  return !(expires_at > now);
}

/** The states that a stored session can have (agentd-identity(7), "States of a session"). */
export type SessionState = 'SessionCreated' | 'NoJWT' | 'ValidJWT' | 'SessionExpired';

export function sessionState(session: Session, now: number, settings: ExpirySettings): SessionState {
  if (session.expires_at <= now) return 'SessionExpired';
  const { jwt_context } = session.metadata;
  if (jwt_context && !hasExpired(jwt_context, settings, now)) return 'ValidJWT';
  return session.turns === 0 ? 'SessionCreated' : 'NoJWT';
}

/**
 * A state that a session passes through within one message. `NoSession`, `JWTReceived` and `InvalidJWT` end before the
 * session is stored, so no stored session has them.
 */
export type PassedState = SessionState | 'NoSession' | 'JWTReceived' | 'InvalidJWT';

interface Opened {
  session: Session;
  session_origin: 'found' | 'new' | 'replaced';
  credential: Credential;
}

/** The states that a message passes through, in order (agentd-identity(7), "States of a session"). */
export function statesPassed(opened: Opened, principal: Principal): readonly PassedState[] {
  const end = principal.person === null ? 'NoJWT' : 'ValidJWT';
  const states = [...statesBefore(opened), ...statesOfToken(opened.credential), end] as const;
  return states.filter((state, at) => state !== states[at - 1]);
}

function statesBefore({ session, session_origin }: Opened): readonly PassedState[] {
  if (session_origin !== 'found') return ['NoSession', 'SessionCreated'];
  // A stored token that has expired counts as valid until a message finds out.
  if (session.metadata.jwt_context) return ['ValidJWT'];
  return session.turns === 0 ? ['SessionCreated'] : ['NoJWT'];
}

function statesOfToken({ kind }: Credential): readonly PassedState[] {
  switch (kind) {
    case 'person':
      return ['JWTReceived'];
    case 'invalid':
    case 'expired':
      return ['JWTReceived', 'InvalidJWT'];
    case 'signed-out':
    case 'none':
      return [];
  }
}
