import type { StreamEvent } from '../../channel/index.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { TraceRecord } from '../trace/trace-record.ts';
import type { Action, NewPendingAction } from './actions.ts';
import type { KeyClaim, SessionClaim, StreamClaim } from './claims.ts';
import type { StoredAnswer } from './idempotency.ts';
import type { FinalFailure, InboxClaim, StoredQuestion } from './inbox.ts';

/** The data that a turn begins with: its claim, and what its steps need, as it was when the claim began. */
export interface BegunTurn {
  claim: SessionClaim;
  /** The session that the message names, as `SessionStore.find` finds it. It may differ from the claimed one. */
  found: Session | null;
  /** The actions that wait in the claimed session (`ActionStore.pendingIn`). */
  pending: Action[];
  /** The actions of earlier runs of the message (`ActionStore.ofTurn`). */
  earlier: Action[];
  /**
   * The last turns of the session that was found, oldest first: all of them, or at least `BEGUN_TURNS`. Null: read them
   * when they are needed (`SessionStore.history`).
   */
  turns: StoredTurn[] | null;
}

/**
 * Minimum number of turns in `BegunTurn`, if the session has that many. Usually they are enough, because most readers
 * may see most turns.
 */
export const BEGUN_TURNS = 100;

/** Everything that a turn changes. Each part belongs to the session of the claim, or names its own claim. */
export interface TurnChanges {
  /**
   * The session that this turn creates, if it is not stored yet. An expired session with that id is first deleted with
   * its turns.
   */
  session?: Session;
  /** The turn to add to the session, which counts it and then expires `ttl_ms` from now. */
  turn?: { record: StoredTurn; ttl_ms: number };
  trace: TraceRecord;
  /** The reply of a message of the inbox: the message is `replied`, and the first attempt to send it has begun. */
  reply?: { claim: InboxClaim; text: string; question?: StoredQuestion | null };
  /**
   * The outcome of a message of the inbox if this was its last run, as `InboxStore.settle` records it. It ends the
   * claim.
   */
  failed?: { claim: InboxClaim; outcome: FinalFailure };
  /** The answer of an idempotency key, kept for `ttl_ms`. It ends the claim of the key. */
  answer?: { claim: KeyClaim; answer: StoredAnswer; ttl_ms: number };
  /** The action that the reply asks the person to confirm. Not stored if the session has ended. */
  pending?: NewPendingAction;
  /** The next events of a stream, as `StreamStore.append` adds them. */
  events?: { claim: StreamClaim; events: readonly StreamEvent[] };
  /** The turn ends with this commit, and so does the claim of its session. */
  ends_claim?: true;
}

/**
 * `session_ended`: an administrator ended the session during the run. Everything is stored except the turn and
 * its pending action.
 * `lost`: one of the claims is gone. Nothing is stored.
 */
export type CommitOutcome = 'committed' | 'session_ended' | 'lost';
