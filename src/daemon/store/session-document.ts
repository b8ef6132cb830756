import { type Session, type StoredTurn, tagOf } from '../session/session.ts';
import { byPersonOf } from './by-person.ts';
import type { ClaimState } from './claim-state.ts';
import type { Kind, Tx } from './kernels/kernel.ts';
import type { Summary } from './summaries.ts';

export interface StoredSession {
  session: Session;
  summaries: readonly Summary[];
  /** The claim of the caller that is making a summary; null if no summary is being made. */
  summarizing: ClaimState | null;
}

/** A session by its tag. Its list are its turns. */
export const SESSION: Kind<StoredSession, StoredTurn> = {
  name: 'session',
  hasList: true,
  expires: ({ session }) => session.expires_at,
  client: ({ session: { owner, client = null } }) => (owner === null ? client : null),
  // By the person whose token it stores.
  indexes: ({ session: { credential_owner } }) => {
    const index = byPersonOf(credential_owner?.person ?? null);
    return index === null ? [] : [[index, 0]];
  },
  isWide: () => true,
};

/** The tag of a session, by an id that is not its tag. */
const NAME: Kind<{ tag: string; expires_at: number }> = {
  name: 'session_name',
  expires: ({ expires_at }) => expires_at,
};

/** The live session with this id, as its current id or the id before sign-in; null if there is none. */
export function findSession(tx: Tx, session_id: string): StoredSession | null {
  const tag = tx.get(NAME, session_id)?.tag ?? session_id;
  const stored = tx.get(SESSION, tag);
  return stored !== null && namesOf(stored.session).includes(session_id) ? stored : null;
}

/** All turns of the session with this id, oldest first. */
export function turns(tx: Tx, session_id: string): StoredTurn[] {
  const stored = findSession(tx, session_id);
  return stored === null ? [] : tx.items(SESSION, tagOf(stored.session));
}

export function putSession(tx: Tx, stored: StoredSession): void {
  const { session } = stored;
  const tag = tagOf(session);
  tx.put(SESSION, tag, stored);
  if (session.session_id !== tag) tx.put(NAME, session.session_id, { tag, expires_at: session.expires_at });
}

/** Deletes a session with its turns. */
export function dropSession(tx: Tx, session: Session): void {
  const tag = tagOf(session);
  tx.delete(SESSION, tag);
  if (session.session_id !== tag) tx.delete(NAME, session.session_id);
}

export function namesOf({ session_id, former_id }: Session): string[] {
  return former_id === null ? [session_id] : [session_id, former_id];
}
