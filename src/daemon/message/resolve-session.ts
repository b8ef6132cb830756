import type { Services } from '../services.ts';
import { generateSessionId } from '../session/ids.ts';
import { type Session, tagOf } from '../session/session.ts';
import type { Arrived, Identified, NamedSession } from './turn.ts';

/** The members of a turn that decide which session it belongs to. */
type Turn = Pick<Arrived & Identified, 'session_id' | 'session_is_generated' | 'credential'> & {
  channel: Pick<Arrived['channel'], 'name'>;
  message: Pick<Arrived['message'], 'user_id'>;
};

/**
 * Finds the session that a message belongs to (agentd-message(7), "Sign-in changes the id").
 *
 * Sign-in replaces a generated id, because the client that began the session knows it. The previous id leads to the
 * session only with the owner's valid token. Any other message with the previous id is treated as if it named no
 * session: it is answered in a separate session, so that nobody is blocked and nothing is revealed.
 */
export async function resolveSession(turn: Turn, services: Pick<Services, 'store'>): Promise<NamedSession> {
  return nameSession(turn, await services.store.sessions.find(turn.session_id));
}

/**
 * Like `resolveSession`, for a session that was already read.
 * @param found the session that the message names, by its current id or by its id before sign-in.
 */
export function nameSession(turn: Turn, found: Session | null): NamedSession {
  const { session_id, session_is_generated, credential } = turn;
  if (found === null || found.session_id === session_id) {
    return named(found, session_id, session_is_generated);
  }
  if (credential.kind === 'person' && credential.verdict.person === found.owner) {
    return named(found, found.session_id, false);
  }
  return named(null, generateSessionId(turn.channel.name, turn.message.user_id), true);
}

function named(found: Session | null, session_id: string, session_is_generated: boolean): NamedSession {
  return { found, session_id, session_is_generated, session_tag: found ? tagOf(found) : session_id };
}
