import type { Claims, PersonKey, TokenOrigin } from '../../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../../session/session.ts';
import { withdrawActions } from '../actions/questions.ts';
import {
  CLAIMS,
  endSessionClaim,
  holdsSession,
  leaveSession,
  renewSession,
  SESSION_CLAIM,
  takeSession,
  waitForSession,
} from '../claims/claim-state.ts';
import type { SessionClaim, SessionPlace } from '../claims/claims.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { GUARD_TURNS } from '../limits/guard.ts';
import { noteSiteSession } from '../links/site-sessions.ts';
import { findFirst } from '../scans.ts';
import { stepsOf } from '../steps-of.ts';
import {
  dropSession,
  findSession,
  putSession,
  SESSION,
  type StoredSession,
  sessionIds,
  turns,
} from './session-document.ts';

/** Sessions and their turns. An expired session is treated as absent, even if it is not deleted yet. */
export interface SessionStore {
  /** The session that has this id, or had it before sign-in; null if there is none or it has expired. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Claims a session for `CLAIM_MS`, even if it does not exist yet. Atomic: null while another caller's claim is valid.
   * @param session_tag the permanent name of the session (`sessionTag`).
   */
  claim(session_tag: string): Promise<SessionClaim | null>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: SessionClaim): Promise<boolean>;
  /** Ends a claim; no effect if the claim is lost. */
  release(claim: SessionClaim): Promise<void>;
  /**
   * Gives a message a place in the line of a session that it will ask for (`Store.beginTurn`). The place is valid for
   * `CLAIM_MS`; its daemon renews it by asking for the session, or by renewing its own claim of the session.
   */
  wait(session_tag: string, place: SessionPlace): Promise<void>;
  /** The message will not ask for the session any more. */
  leave(session_tag: string, place: SessionPlace): Promise<void>;
  /**
   * Writes a session with its ids, its owner and its context. Before a run, this is the only write to a session.
   * Sign-in needs this write. `Store.commitTurn` writes everything else. Atomic.
   * - `new`: an expired session with the same id is first deleted with its turns.
   * - `changed`: the stored session with the same tag is changed. Returns `ended` and writes nothing if it has ended.
   * - `replaced`: the session with the same id is first deleted with its turns, because a new session begins for a
   * different person.
   * @param token the claims of the token in the session's context; null if they do not matter
   * @returns `lost` if the claim is gone; nothing is written.
   */
  save(
    claim: SessionClaim,
    session: Session,
    as: 'new' | 'changed' | 'replaced',
    token?: (TokenOrigin & Pick<Claims, 'exp'>) | null,
  ): Promise<SaveOutcome>;
  /** The last answered turns that the reader may see, at most `limit`, oldest first. */
  history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Lists sessions, the most recently active first. @param among only sessions of one of these, if given */
  list(filter: {
    among?: readonly { platform?: string; user_id?: string }[];
    limit: number;
  }): Promise<Session[]>;
  /**
   * Deletes the session that `find` would return, and its turns, but not its traces. False if there is none. Only
   * administrators use it, so it needs no claim.
   */
  end(session_id: string): Promise<boolean>;
}

export type SaveOutcome = 'saved' | 'ended' | 'lost';

/** Decides which turns a run may see. */
export interface HistoryReader {
  /** The reader sees the turns that ran for this person. Null: the turns without a signed-in person. */
  person: PersonKey | null;
  /** Whether the reader also sees the turns without a signed-in person. */
  nobodys: boolean;
}

export function sessionStore(kernel: Kernel): SessionStore {
  const readTurns = (session_id: string) => kernel.step((tx) => turns(tx, session_id));
  const step = stepsOf(kernel);
  return {
    find: step((tx, session_id) => findSession(tx, session_id)?.session ?? null),
    claim: step((tx, session_tag) => {
      const owner = takeSession(tx, session_tag);
      return owner === null ? null : { session_tag, owner };
    }, CLAIMS),
    renew: step((tx, claim) => {
      const found = tx.get(SESSION_CLAIM, claim.session_tag);
      if (found?.owner !== claim.owner) return false;
      renewSession(tx, claim.session_tag, found);
      return true;
    }, CLAIMS),
    release: step((tx, claim) => {
      if (holdsSession(tx, claim)) endSessionClaim(tx, claim.session_tag);
    }, CLAIMS),
    wait: step(waitForSession, CLAIMS),
    leave: step(leaveSession, CLAIMS),
    save: step((tx, claim, session, as, token = null) => {
      if (!holdsSession(tx, claim)) return 'lost';
      expectTag(session, claim.session_tag);
      if (token !== null) noteSiteSession(tx, token, Math.floor(token.exp * 1000));
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
    history: async (session_id, reader, limit) =>
      shownTurns(reader, await readTurns(session_id)).slice(-limit),
    turns: readTurns,
    list: async ({ among = [{}], limit }) => {
      const found = await findFirst(kernel, SESSION, {
        isMeant: ({ session }) => among.some((one) => belongsTo(session, one)),
        compare: ({ session: a }, { session: b }) =>
          b.last_active_at - a.last_active_at || b.created_at - a.created_at,
        limit,
      });
      return found.map(({ session }) => session);
    },
    end: step((tx, session_id) => {
      const stored = findSession(tx, session_id);
      if (stored !== null) endSession(tx, stored);
      return stored !== null;
    }),
  };
}

function belongsTo(
  session: Session,
  { platform, user_id }: { platform?: string; user_id?: string },
): boolean {
  const isOfPlatform = platform === undefined || session.platform === platform;
  return isOfPlatform && (user_id === undefined || session.user_id === user_id);
}

/** Stores a new session, without anything of an expired session with its tag. */
export function createSession(tx: Tx, session: Session): void {
  expectFreeIds(tx, session);
  const tag = sessionTag(session);
  withdrawActions(tx, { session_tag: tag });
  tx.delete(SESSION, tag);
  putSession(tx, { session, summaries: [], summarizing: null });
  const count = tx.get(GUARD_TURNS, tag);
  if (count !== null) tx.put(GUARD_TURNS, tag, { ...count, ends_at: session.expires_at });
}

/** @throws if a live session has one of the new session's ids, as its current or its former id. */
function expectFreeIds(tx: Tx, session: Session): void {
  if (sessionIds(session).some((name) => findSession(tx, name) !== null))
    throw new Error('the id of the new session is already used by another session');
}

/** @throws if the claim is for a different session. */
export function expectTag(session: Session, session_tag: string): void {
  if (sessionTag(session) !== session_tag) throw new Error('the claim is for a different session');
}

export function endSession(tx: Tx, { session }: StoredSession): void {
  const tag = sessionTag(session);
  withdrawActions(tx, { session_tag: tag });
  dropSession(tx, session);
  tx.delete(GUARD_TURNS, tag);
}

/** The answered turns that a reader may see, in the given order. */
export function shownTurns({ person, nobodys }: HistoryReader, turns: readonly StoredTurn[]): StoredTurn[] {
  return turns
    .filter((turn) => turn.outcome === 'answered')
    .filter((turn) => turn.person === person || (turn.person === null && nobodys));
}
