import type { StreamEvent } from '../../channel/index.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { TraceRecord } from '../trace/trace-record.ts';
import type { Action, NewPendingAction } from './actions.ts';
import type { KeyClaim, SessionClaim, StreamClaim } from './claims.ts';
import type { StoredAnswer } from './idempotency.ts';
import type { FinalFailure, InboxClaim, StoredQuestion } from './inbox.ts';

/**
 * The data that a turn begins with: the claim of its session, and the data that its steps need. All of this data is as
 * it was when the claim was taken.
 */
export interface BegunTurn {
  claim: SessionClaim;
  /**
   * The session that the message names, as returned by `SessionStore.find`. It may be different from the claimed
   * session.
   */
  found: Session | null;
  /** The pending actions of the claimed session (`ActionStore.pendingIn`). */
  pending: Action[];
  /** The actions of earlier runs of the message (`ActionStore.ofTurn`). */
  earlier: Action[];
  /**
   * The last turns of the `found` session, oldest first: all of them, or at least `BEGUN_TURNS`. Null: a step that
   * needs turns must read them (`SessionStore.history`).
   */
  turns: StoredTurn[] | null;
}

/**
 * Minimum number of turns in `BegunTurn`, if the session has that many. This is usually enough, because most readers
 * may see most turns.
 */
export const BEGUN_TURNS = 100;

/** Everything that a turn changes. Each part belongs to the session of the claim or names its own claim. */
export interface TurnChanges {
  /**
   * The session that this turn creates, if it is not stored yet. An expired session with the same id is first deleted
   * with its turns.
   */
  session?: Session;
  /** The turn to add to the session. The session counts the turn, and then expires `ttl_ms` from now. */
  turn?: { record: StoredTurn; ttl_ms: number };
  trace: TraceRecord;
  /**
   * The reply of a message of the inbox: the message becomes `replied`, and the first attempt to send the reply begins.
   */
  reply?: { claim: InboxClaim; text: string; question?: StoredQuestion | null };
  /**
   * The outcome of a message of the inbox if this was its last run. The commit records it like `InboxStore.settle`, and
   * ends the claim of the message.
   */
  failed?: { claim: InboxClaim; outcome: FinalFailure };
  /** The answer of an idempotency key, kept for `ttl_ms`. It ends the claim of the key. */
  answer?: { claim: KeyClaim; answer: StoredAnswer; ttl_ms: number };
  /** The action that the reply asks the person to confirm. Not stored if the session has ended. */
  pending?: NewPendingAction;
  /** The next events of a stream, as `StreamStore.append` adds them. */
  events?: { claim: StreamClaim; events: readonly StreamEvent[] };
  /** The commit also ends the claim of the session, because the turn ends with it. */
  ends_claim?: true;
}

/**
 * `session_ended`: an administrator ended the session during the run. Everything is stored except the turn and its
 * pending action.
 * `lost`: one of the claims is gone. Nothing is stored.
 */
export type CommitOutcome = 'committed' | 'session_ended' | 'lost';
