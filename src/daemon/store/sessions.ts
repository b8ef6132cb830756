import type { PersonKey } from '../identity/identity.ts';
import type { TraceRecord } from '../message/trace.ts';
import type { Session, StoredTurn } from '../session/session.ts';

export interface SessionStore {
  /** The session that has this id, or had it before sign-in; null if there is none or it has expired. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Writes a session as it is given, new or changed: its ids, its owner, its context. Atomic. Called under the
   * session's lease. A changed session is found by its tag. Before a new one is written, an expired session of
   * that id is deleted with its turns.
   * False where `expect` is `changed` and the session has ended meanwhile: nothing is written.
   */
  save(session: Session, expect: 'new' | 'changed'): Promise<boolean>;
  /**
   * Keeps a turn and its trace, counts it, and slides the session's time to `ttl_ms` from now; atomic.
   * False where the session ended meanwhile: then only the trace is kept.
   */
  keepTurn(session_id: string, turn: StoredTurn, trace: TraceRecord, ttl_ms: number): Promise<boolean>;
  /** The last answered turns that the reader may see, oldest first. */
  history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Newest activity first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
  /** Deletes the session that `find` finds, and its turns; the traces stay. False if there is none. */
  end(session_id: string): Promise<boolean>;
}

/** Whose turns a run is shown. */
export interface HistoryReader {
  /** Turns that ran as this person; null: turns that ran as nobody. */
  person: PersonKey | null;
  /** Also the turns that ran as nobody. */
  nobodys: boolean;
}
