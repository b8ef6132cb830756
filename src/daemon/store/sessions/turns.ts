import type { StreamEvent } from '../../../channel/index.ts';
import type { PersonKey, TokenOrigin } from '../../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import { actionsOfQuestion, isPending } from '../actions/action-document.ts';
import { actionsOfTurn, declinedActionsIn } from '../actions/action-steps.ts';
import type { Action, NewPendingAction, ReplyToAsked } from '../actions/actions.ts';
import { closeCards } from '../actions/question-cards.ts';
import {
  addPending,
  lapsedActionsIn,
  noteReply,
  pendingActionsIn,
  withdrawActions,
} from '../actions/questions.ts';
import { CLAIMS, endSessionClaim, holdsSession, takeSession } from '../claims/claim-state.ts';
import type { KeyClaim, SessionClaim, StreamClaim } from '../claims/claims.ts';
import { holdsKey, type StoredAnswer, storeAnswer } from '../idempotency.ts';
import type { FinalFailure, InboxClaim, SignInHint, StoredQuestion } from '../inbox/inbox.ts';
import type { InboxBounds } from '../inbox/inbox-document.ts';
import { heldMessage, settleStored, storeReply } from '../inbox/inbox-steps.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { GUARD_TURNS } from '../limits/guard.ts';
import { answerIfLinked } from '../links/links.ts';
import { isSignedOut } from '../links/sign-out-marks.ts';
import { keepQuestion, type NewWaitingQuestion } from '../links/waiting-questions.ts';
import { stepsOf } from '../steps-of.ts';
import type { Store } from '../store.ts';
import { appendEvents, heldStream } from '../streams.ts';
import { keepTrace, type TraceRings } from '../traces.ts';
import { findSession, putSession, SESSION, turns } from './session-document.ts';
import { createSession, expectTag } from './sessions.ts';

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
  /** The actions of the claimed session whose question has expired, and is still the end of the newest reply. */
  lapsed: Action[];
  /** The actions of the claimed session that were declined in the last 10 minutes, oldest first. */
  declined: Action[];
  /** The actions of earlier runs of the message (`ActionStore.ofTurn`). */
  earlier: Action[];
  /** The last turns of the `found` session, oldest first, at most `BEGUN_TURNS`. */
  turns: StoredTurn[];
  /** Whether the token of the message ended with a sign-out at the site (`isSignedOut`); null if it has none. */
  signed_out: boolean | null;
}

/**
 * Maximum number of turns in `BegunTurn`. They are usually enough, because most readers may see most turns; others are
 * read with `SessionStore.history`.
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
   * `written_for`: as in `InboxMessage`.
   */
  reply?: {
    claim: InboxClaim;
    text: string;
    question?: StoredQuestion | null;
    sign_in?: SignInHint;
    written_for?: PersonKey;
  };
  /**
   * The outcome of a message of the inbox if this was its last run. The commit records it like `InboxStore.settle`, and
   * ends the claim of the message.
   */
  failed?: { claim: InboxClaim; outcome: FinalFailure };
  /** The answer of an idempotency key, kept for `ttl_ms`. It ends the claim of the key. */
  answer?: { claim: KeyClaim; answer: StoredAnswer; ttl_ms: number };
  /** The actions that the reply asks the person to confirm, in their order. Not stored if the session has ended. */
  pending?: readonly NewPendingAction[];
  /**
   * The claims of the token that the run acted with. If a sign-out at the site has ended it meanwhile, the `pending`
   * actions are withdrawn at once: the sign-out could not withdraw them. Null: the run acted for nobody.
   */
  acted_with?: TokenOrigin | null;
  /** What the reply says about the question that was open before. Absent if its reader is not known. */
  reply_to_asked?: ReplyToAsked;
  /** The question that the message has answered. Its buttons are taken away on the platform. */
  answered_question?: string;
  /** The message waits until its sender signs in. Not stored if the session has ended. */
  waits?: NewWaitingQuestion;
  /** The next events of a stream, as `StreamStore.append` adds them. */
  events?: { claim: StreamClaim; events: readonly StreamEvent[] };
  /** The commit also ends the claim of the session, because the turn ends with it. */
  ends_claim?: true;
}

/**
 * `session_ended`: an administrator ended the session during the run. Everything is stored except the turn and its
 * pending actions.
 * `lost`: one of the claims is gone. Nothing is stored.
 */
export type CommitOutcome = 'committed' | 'session_ended' | 'lost';

interface TurnBounds extends InboxBounds {
  actionsRetentionMs: number;
}

export function turnSteps(
  kernel: Kernel,
  bounds: TurnBounds,
  rings: TraceRings,
): Pick<Store, 'beginTurn' | 'commitTurn'> {
  const step = stepsOf(kernel);
  return {
    beginTurn: step((tx, session_tag, session_id, turn_key, token = null, place) => {
      const owner = takeSession(tx, session_tag, place);
      if (owner === null) return null;
      return {
        claim: { session_tag, owner },
        found: findSession(tx, session_id)?.session ?? null,
        pending: pendingActionsIn(tx, session_tag),
        lapsed: lapsedActionsIn(tx, session_tag),
        declined: declinedActionsIn(tx, session_tag),
        earlier: turn_key === null ? [] : actionsOfTurn(tx, turn_key),
        turns: turns(tx, session_id, -BEGUN_TURNS),
        signed_out: token && isSignedOut(tx, token),
      };
    }, CLAIMS),
    commitTurn: step((tx, claim, changes) => commitTurn(tx, claim, changes, bounds, rings)),
  };
}

function commitTurn(
  tx: Tx,
  claim: SessionClaim,
  changes: TurnChanges,
  bounds: TurnBounds,
  rings: TraceRings,
): CommitOutcome {
  const { session, turn, trace, reply, failed, answer, pending, waits, events } = changes;
  if (!holdsSession(tx, claim)) return 'lost';
  const replied = reply && heldMessage(tx, reply.claim);
  const attempted = failed && heldMessage(tx, failed.claim);
  if (replied === null || attempted === null) return 'lost';
  if (answer && !holdsKey(tx, answer.claim)) return 'lost';
  if (events && heldStream(tx, events.claim) === null) return 'lost';
  if (session) {
    expectTag(session, claim.session_tag);
    createSession(tx, session);
  }
  const isStored = turn === undefined || storeTurn(tx, claim.session_tag, turn, trace);
  keepTrace(tx, rings.answered, trace);
  if (reply && replied) storeReply(tx, replied, reply);
  if (failed && attempted) settleStored(tx, attempted, failed.outcome, bounds);
  if (answer) storeAnswer(tx, answer.claim, answer.answer, answer.ttl_ms);
  // First, because a new question is withdrawn with neither an earlier question nor its reply.
  if (changes.reply_to_asked && isStored) noteReply(tx, claim.session_tag, changes.reply_to_asked);
  if (pending && isStored) {
    addPending(tx, pending, bounds.actionsRetentionMs);
    if (changes.acted_with && isSignedOut(tx, changes.acted_with))
      for (const { action_id } of pending) withdrawActions(tx, { action_id });
  }
  if (changes.answered_question !== undefined) closeAnswered(tx, changes.answered_question);
  if (waits && isStored) {
    keepQuestion(tx, waits, claim.session_tag);
    answerIfLinked(tx, waits.link_key);
  }
  if (events) appendEvents(tx, events.claim.stream_id, events.events);
  if (changes.ends_claim) endSessionClaim(tx, claim.session_tag);
  return isStored ? 'committed' : 'session_ended';
}

/** A question that was not answered after all, for example because the person stopped the run, keeps its buttons. */
function closeAnswered(tx: Tx, question_id: string): void {
  const isOpen = actionsOfQuestion(tx, question_id).some((action) => isPending(action, tx.now));
  if (!isOpen) closeCards(tx, question_id);
}

/** False if the session has ended. */
function storeTurn(
  tx: Tx,
  session_tag: string,
  { record, ttl_ms }: NonNullable<TurnChanges['turn']>,
  trace: TurnChanges['trace'],
): boolean {
  const stored = findSession(tx, session_tag);
  if (stored === null) return false;
  const tag = sessionTag(stored.session);
  const { turns: count } = stored.session;
  const expires_at = tx.now + ttl_ms;
  putSession(tx, {
    ...stored,
    session: { ...stored.session, turns: count + 1, last_active_at: tx.now, expires_at },
  });
  tx.append(SESSION, tag, [record], trace);
  const counted = tx.get(GUARD_TURNS, tag);
  if (counted !== null) tx.put(GUARD_TURNS, tag, { ...counted, ends_at: expires_at });
  return true;
}
