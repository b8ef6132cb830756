import type { PersonKey } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { SessionClaim } from './claims.ts';

/** Sessions and their turns. An expired session is treated as absent, even if it is not deleted yet. */
export interface SessionStore {
  /** The session that has this id, or had it before sign-in; null if there is none or it has expired. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Claims a session for `CLAIM_MS`, even if it does not exist yet. Atomic: null while another caller's claim is valid.
   * @param session_tag the permanent name of the session (`tagOf`).
   */
  claim(session_tag: string): Promise<SessionClaim | null>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: SessionClaim): Promise<boolean>;
  /** Ends a claim; no effect if the claim is lost. */
  release(claim: SessionClaim): Promise<void>;
  /**
   * Writes a session with its ids, its owner and its context. Before a run, this is the only write to a session.
   * Sign-in needs this write. `Store.commitTurn` writes everything else. Atomic.
   * - `new`: an expired session with the same id is first deleted with its turns.
   * - `changed`: the stored session with the same tag is changed. Returns `ended` and writes nothing if it has ended.
   * - `replaced`: the session with the same id is first deleted with its turns, because a new session begins for a
   * different person.
   * @returns `lost` if the claim is gone; nothing is written.
   */
  save(claim: SessionClaim, session: Session, as: 'new' | 'changed' | 'replaced'): Promise<SaveOutcome>;
  /** The last answered turns that the reader may see, at most `limit`, oldest first. */
  history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Lists sessions, the most recently active first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
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
