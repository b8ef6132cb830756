import { type Session, tagOf } from '../../session/session.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import type { SessionStore } from '../sessions.ts';
import { shownTurns } from '../shown-turns.ts';
import { withdrawIn } from './actions.ts';
import { claimSteps, holdsSession, renewed, SESSION_CLAIM, takeSession } from './claim-state.ts';
import { GUARD_TURNS } from './guard.ts';
import { listed } from './listed.ts';
import {
  dropSession,
  findSession,
  namesOf,
  putSession,
  SESSION,
  type StoredSession,
  turns,
} from './session-document.ts';

export function sessionStore(kernel: Kernel): SessionStore {
  const claiming = claimSteps(kernel);
  const turnsOf = (session_id: string) => kernel.step((tx) => turns(tx, session_id));
  return {
    find: (session_id) => kernel.step((tx) => findSession(tx, session_id)?.session ?? null),
    claim: (session_tag) =>
      claiming((tx) => {
        const owner = takeSession(tx, session_tag);
        return owner === null ? null : { session_tag, owner };
      }),
    renew: (claim) =>
      claiming((tx) => {
        const found = tx.get(SESSION_CLAIM, claim.session_tag);
        if (found?.owner !== claim.owner) return false;
        tx.put(SESSION_CLAIM, claim.session_tag, renewed(found, tx));
        return true;
      }),
    release: (claim) =>
      claiming((tx) => {
        if (holdsSession(tx, claim)) tx.delete(SESSION_CLAIM, claim.session_tag);
      }),
    save: (claim, session, as) =>
      kernel.step((tx) => {
        if (!holdsSession(tx, claim)) return 'lost';
        expectTag(session, claim.session_tag);
        if (as === 'changed') {
          const stored = tx.get(SESSION, claim.session_tag);
          if (stored === null) return 'ended';
          putSession(tx, { ...stored, session });
          return 'saved';
        }
        const replaced = as === 'replaced' ? findSession(tx, session.session_id) : null;
        if (replaced !== null) endSession(tx, replaced);
        createSession(tx, session);
        return 'saved';
      }),
    history: async (session_id, reader, limit) => shownTurns(reader, await turnsOf(session_id)).slice(-limit),
    turns: turnsOf,
    list: async ({ platform, user_id, limit }) =>
      (await listed(kernel, SESSION))
        .map(({ session }) => session)
        .filter((session) => platform === undefined || session.platform === platform)
        .filter((session) => user_id === undefined || session.user_id === user_id)
        .sort((a, b) => b.last_active_at - a.last_active_at || b.created_at - a.created_at)
        .slice(0, limit),
    end: (session_id) =>
      kernel.step((tx) => {
        const stored = findSession(tx, session_id);
        if (stored !== null) endSession(tx, stored);
        return stored !== null;
      }),
  };
}

/** Stores a new session, without anything of an expired session with its tag. */
export function createSession(tx: Tx, session: Session): void {
  expectFreeIds(tx, session);
  const tag = tagOf(session);
  withdrawIn(tx, tag);
  tx.delete(SESSION, tag);
  putSession(tx, { session, summaries: [], summarizing: null });
  const count = tx.get(GUARD_TURNS, tag);
  if (count !== null) tx.put(GUARD_TURNS, tag, { ...count, ends_at: session.expires_at });
}

/** @throws if a live session has one of the new session's ids, as its current or its former id. */
function expectFreeIds(tx: Tx, session: Session): void {
  if (namesOf(session).some((name) => findSession(tx, name) !== null))
    throw new Error('the id of the new session is already used by another session');
}

/** @throws if the claim is for a different session. */
export function expectTag(session: Session, session_tag: string): void {
  if (tagOf(session) !== session_tag) throw new Error('the claim is for a different session');
}

export function endSession(tx: Tx, { session }: StoredSession): void {
  const tag = tagOf(session);
  withdrawIn(tx, tag);
  dropSession(tx, session);
  tx.delete(GUARD_TURNS, tag);
}
