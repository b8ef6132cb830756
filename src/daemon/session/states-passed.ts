import type { Credential, Principal } from '../identity/identity.ts';
import type { Session } from './session.ts';
import type { SessionState } from './state.ts';

/**
 * A state that a session passes through within one message. `NoSession`, `JWTReceived` and `InvalidJWT` end before the
 * session is stored, so no stored session has them.
 */
type PassedState = SessionState | 'NoSession' | 'JWTReceived' | 'InvalidJWT';

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
