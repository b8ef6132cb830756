import { type ExpirySettings, hasExpired } from './jwt-context.ts';
import type { Session } from './session.ts';

/** The states that a stored session can have (agentd-identity(7), "States of a session"). */
export type SessionState = 'SessionCreated' | 'NoJWT' | 'ValidJWT' | 'SessionExpired';

export function sessionState(session: Session, now: number, settings: ExpirySettings): SessionState {
  if (session.expires_at <= now) return 'SessionExpired';
  const { jwt_context } = session.metadata;
  if (jwt_context && !hasExpired(jwt_context, settings, now)) return 'ValidJWT';
  return session.turns === 0 ? 'SessionCreated' : 'NoJWT';
}
