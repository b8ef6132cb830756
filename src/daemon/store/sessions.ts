import type { PersonKey } from '../identity/identity.ts';
import type { TraceRecord } from '../message/trace.ts';
import type { Session, StoredTurn } from '../session/session.ts';

export interface SessionStore {
  /** The session, or null where there is none or its time has passed. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Writes a session as it is given, new or changed: whose it is, what is bound. Atomic. Called under the
   * session's lease. A session of that id whose time has passed is deleted first, with its turns.
   * False where `expect` is `changed` and the session has ended meanwhile: nothing is written.
   */
  save(session: Session, expect: 'new' | 'changed'): Promise<boolean>;
  /**
   * Keeps a turn and its trace, counts it, and slides the session's time to `ttl_ms` from now; atomic.
   * False where the session ended meanwhile: then only the trace is kept.
   */
  keepTurn(session_id: string, turn: StoredTurn, trace: TraceRecord, ttl_ms: number): Promise<boolean>;
  /** The last answered turns, oldest first, that `reader` may see: those of nobody, and the reader's own. */
  history(session_id: string, reader: PersonKey | null, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Newest activity first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
  /** Deletes a session and its turns; the traces stay. False where there was none. */
  end(session_id: string): Promise<boolean>;
}
