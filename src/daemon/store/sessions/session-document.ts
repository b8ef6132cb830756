import { byPersonOrNull } from '../../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../../session/session.ts';
import type { ClaimState } from '../claims/claim-state.ts';
import type { Kind, Tx } from '../kernels/kernel.ts';
import type { Summary } from './summaries.ts';

export interface StoredSession {
  session: Session;
  /** The actions that were declined lately, oldest first. Absent if there are none. */
  declined?: readonly { action_id: string; at: number }[];
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
    const index = byPersonOrNull(credential_owner?.person ?? null);
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
  const named = (tag: string) => {
    const stored = tx.get(SESSION, tag);
    return stored !== null && sessionIds(stored.session).includes(session_id) ? stored : null;
  };
  // Most ids are tags. Two sessions never have the same id.
  const found = named(session_id);
  const tag = found === null ? tx.get(NAME, session_id)?.tag : undefined;
  return tag === undefined ? found : named(tag);
}

/** The turns of the session with this id, oldest first. @param start see `Tx.items` */
export function turns(tx: Tx, session_id: string, start?: number): StoredTurn[] {
  const stored = findSession(tx, session_id);
  return stored === null ? [] : tx.items(SESSION, sessionTag(stored.session), start);
}

export function putSession(tx: Tx, stored: StoredSession): void {
  const { session } = stored;
  const tag = sessionTag(session);
  tx.put(SESSION, tag, stored);
  if (session.session_id !== tag) tx.put(NAME, session.session_id, { tag, expires_at: session.expires_at });
}

/** How long a session remembers that an action was declined, ms. */
const DECLINED_MS = 10 * 60 * 1000;
/** Maximum number of declined actions that a session remembers. */
const DECLINED_MAX = 50;

/** Records that actions of the session were declined now. */
export function noteDeclined(tx: Tx, session_tag: string, action_ids: readonly string[]): void {
  const stored = findSession(tx, session_tag);
  if (stored === null || action_ids.length === 0) return;
  const before = recentlyDeclined(tx, stored);
  const declined = [...before, ...action_ids.map((action_id) => ({ action_id, at: tx.now }))];
  putSession(tx, { ...stored, declined: declined.slice(-DECLINED_MAX) });
}

/** The ids of the actions that were declined in the last 10 minutes, oldest first. */
export function declinedIn(tx: Tx, session_tag: string): string[] {
  const stored = findSession(tx, session_tag);
  return stored === null ? [] : recentlyDeclined(tx, stored).map(({ action_id }) => action_id);
}

function recentlyDeclined(tx: Tx, { declined = [] }: StoredSession): NonNullable<StoredSession['declined']> {
  return declined.filter(({ at }) => at > tx.now - DECLINED_MS);
}

/** Deletes a session with its turns. */
export function dropSession(tx: Tx, session: Session): void {
  const tag = sessionTag(session);
  tx.delete(SESSION, tag);
  if (session.session_id !== tag) tx.delete(NAME, session.session_id);
}

export function sessionIds({ session_id, former_id }: Session): string[] {
  return former_id === null ? [session_id] : [session_id, former_id];
}
