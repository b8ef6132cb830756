import type { PersonKey } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { SessionClaim } from './claims.ts';

/** Sessions and their turns. An expired session is treated as absent, whether it is deleted yet or not. */
export interface SessionStore {
  /** The session that has this id, or had it before sign-in; null if there is none or it has expired. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Claims a session for `CLAIM_MS`, whether it exists yet or not. Atomic: null while another caller's claim is valid.
   * @param session_tag the name that never changes (`tagOf`).
   */
  claim(session_tag: string): Promise<SessionClaim | null>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: SessionClaim): Promise<boolean>;
  /** Ends a claim; no effect on one that is lost. */
  release(claim: SessionClaim): Promise<void>;
  /**
   * Writes a session as it is given: its ids, its owner, its context. The one write before a run (sign-in); everything
   * else is written by `Store.commitTurn`. Atomic.
   * - `new`: an expired session of that id is deleted with its turns first.
   * - `changed`: found by its tag. `ended` if the session has ended meanwhile: nothing is written.
   * - `replaced`: the session of that id is deleted with its turns first, because it begins anew for another person.
   * @returns `lost` if the claim is gone: nothing is written.
   */
  save(claim: SessionClaim, session: Session, as: 'new' | 'changed' | 'replaced'): Promise<SaveOutcome>;
  /** The last answered turns that the reader may see, oldest first. */
  history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Newest activity first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
  /**
   * Deletes the session that `find` finds, and its turns; the traces stay. False if there is none. For administrators:
   * it needs no claim.
   */
  end(session_id: string): Promise<boolean>;
}

export type SaveOutcome = 'saved' | 'ended' | 'lost';

/** Whose turns a run is shown. */
export interface HistoryReader {
  /** Turns that ran as this person; null: turns that ran as nobody. */
  person: PersonKey | null;
  /** Also the turns that ran as nobody. */
  nobodys: boolean;
}
