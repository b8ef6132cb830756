import { tagOf } from '../../session/session.ts';
import type { SessionClaim } from '../claims.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import type { Store } from '../store.ts';
import type { CommitOutcome, TurnChanges } from '../turns.ts';
import { actionsOfTurn, addPending, pendingActionsIn } from './actions.ts';
import { claimSteps, holdsSession, SESSION_CLAIM, takeSession } from './claim-state.ts';
import { GUARD_TURNS } from './guard.ts';
import { holdsKey, storeAnswer } from './idempotency.ts';
import { heldMessage, type InboxBounds, settleStored, storeReply } from './inbox.ts';
import { findSession, putSession, SESSION, turns } from './session-document.ts';
import { createSession, expectTag } from './sessions.ts';
import { appendEvents, heldStream } from './streams.ts';
import { keepTrace, type TraceRings } from './traces.ts';

export interface TurnBounds extends InboxBounds {
  actionsRetentionMs: number;
}

export function turnSteps(
  kernel: Kernel,
  bounds: TurnBounds,
  rings: TraceRings,
): Pick<Store, 'beginTurn' | 'commitTurn'> {
  const claiming = claimSteps(kernel);
  return {
    beginTurn: (session_tag, session_id, turn_key) =>
      claiming((tx) => {
        const owner = takeSession(tx, session_tag);
        if (owner === null) return null;
        return {
          claim: { session_tag, owner },
          found: findSession(tx, session_id)?.session ?? null,
          pending: pendingActionsIn(tx, session_tag),
          earlier: turn_key === null ? [] : actionsOfTurn(tx, turn_key),
          turns: turns(tx, session_id),
        };
      }),
    commitTurn: (claim, changes) => kernel.step((tx) => commitTurn(tx, claim, changes, bounds, rings)),
  };
}

function commitTurn(
  tx: Tx,
  claim: SessionClaim,
  changes: TurnChanges,
  bounds: TurnBounds,
  rings: TraceRings,
): CommitOutcome {
  const { session, turn, trace, reply, failed, answer, pending, events } = changes;
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
  if (pending && isStored) addPending(tx, pending, bounds.actionsRetentionMs);
  if (events) appendEvents(tx, events.claim.stream_id, events.events);
  if (changes.ends_claim) tx.delete(SESSION_CLAIM, claim.session_tag);
  return isStored ? 'committed' : 'session_ended';
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
  const tag = tagOf(stored.session);
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
