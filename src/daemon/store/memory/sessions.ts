import { type Session, tagOf } from '../../session/session.ts';
import type { SessionStore } from '../sessions.ts';
import { shownTurns } from '../shown-turns.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import { withdraw } from './pending-actions.ts';
import type { StoredSession } from './state.ts';

export function sessionSteps(context: MemoryContext): Steps<SessionStore> {
  const { state, clock } = context;
  const claims = context.claims.sessions;
  const find = (session_id: string) => findSession(context, session_id);
  const listed = (session_id: string) => find(session_id)?.turns ?? [];
  return {
    find: (session_id) => find(session_id)?.session ?? null,
    claim(session_tag) {
      const owner = claims.take(session_tag);
      return owner === null ? null : { session_tag, owner };
    },
    renew: ({ session_tag, owner }) => claims.renew(session_tag, owner),
    release: ({ session_tag, owner }) => claims.release(session_tag, owner),
    save({ session_tag, owner }, session, as) {
      if (!claims.isHeld(session_tag, owner)) return 'lost';
      expectTag(session, session_tag);
      if (as === 'changed') {
        const stored = find(session_tag);
        if (!stored) return 'ended';
        stored.session = session;
        return 'saved';
      }
      const replaced = as === 'replaced' ? find(session.session_id) : null;
      if (replaced) endSession(context, replaced);
      createSession(context, session);
      return 'saved';
    },
    history: (session_id, reader, limit) => shownTurns(reader, listed(session_id)).slice(-limit),
    turns: listed,
    list: ({ platform, user_id, limit }) =>
      [...state.sessions.values()]
        .map(({ session }) => session)
        .filter((session) => session.expires_at > clock.now())
        .filter((session) => platform === undefined || session.platform === platform)
        .filter((session) => user_id === undefined || session.user_id === user_id)
        .reverse()
        .sort((a, b) => b.last_active_at - a.last_active_at)
        .slice(0, limit),
    end(session_id) {
      const stored = find(session_id);
      if (stored) endSession(context, stored);
      return stored !== null;
    },
  };
}

/** Finds a session by its current id, or by the id before sign-in; null if there is none or it has expired. */
export function findSession({ state, clock }: MemoryContext, session_id: string): StoredSession | null {
  const isNamed = ({ session }: StoredSession) => namesOf(session).includes(session_id);
  const isAlive = ({ session }: StoredSession) => session.expires_at > clock.now();
  return [...state.sessions.values()].find((stored) => isNamed(stored) && isAlive(stored)) ?? null;
}

/** Stores a new session. Expired sessions with one of its ids are deleted first. */
export function createSession(context: MemoryContext, session: Session): void {
  expectFreeIds(context, session);
  const { sessions, guard_turns } = context.state;
  const tag = tagOf(session);
  for (const [other, { session: expired }] of sessions)
    if (namesOf(expired).some((name) => namesOf(session).includes(name))) sessions.delete(other);
  withdraw(context, (action) => action.session_tag === tag);
  sessions.set(tag, { session, turns: [], summaries: [], summarizing: null });
  const count = guard_turns.get(tag);
  if (count && count.ends_at > context.clock.now())
    guard_turns.set(tag, { ...count, ends_at: session.expires_at });
}

/** @throws if a live session has one of the new session's ids, as its current or its former id. */
export function expectFreeIds(context: MemoryContext, session: Session): void {
  if (namesOf(session).some((name) => findSession(context, name)))
    throw new Error('the id of the new session is already used by another session');
}

/** @throws if the claim is for a different session. */
export function expectTag(session: Session, session_tag: string): void {
  if (tagOf(session) !== session_tag) throw new Error('the claim is for a different session');
}

function endSession(context: MemoryContext, { session }: StoredSession): void {
  const tag = tagOf(session);
  context.state.sessions.delete(tag);
  context.state.guard_turns.delete(tag);
  withdraw(context, (action) => action.session_tag === tag);
}

function namesOf({ session_id, former_id }: Session): string[] {
  return former_id === null ? [session_id] : [session_id, former_id];
}
