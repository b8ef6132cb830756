import type { SessionClaim } from '../claims.ts';
import type { CommitOutcome, TurnChanges } from '../turns.ts';
import type { MemoryContext } from './context.ts';
import { storeAnswer } from './idempotency.ts';
import { settleClaimed, storeReply } from './inbox.ts';
import { addPending } from './pending-actions.ts';
import { createSession, expectFreeIds, expectTag, findSession } from './sessions.ts';
import { appendEvents, expectNext } from './streams.ts';
import { keepTrace } from './traces.ts';

/**
 * `Store.commitTurn`. All checks that can refuse the turn come first, so that either everything or nothing is stored.
 */
export function commitTurn(context: MemoryContext, claim: SessionClaim, changes: TurnChanges): CommitOutcome {
  const { session, turn, trace, reply, failed, answer, pending, events } = changes;
  if (!areHeld(context, claim, changes)) return 'lost';
  if (session) {
    expectTag(session, claim.session_tag);
    expectFreeIds(context, session);
  }
  if (events) expectNext(context, events.claim.stream_id, events.events);

  if (session) createSession(context, session);
  const isStored = turn === undefined || storeTurn(context, claim.session_tag, turn);
  keepTrace(context, trace);
  if (reply) storeReply(context, reply);
  if (failed) settleClaimed(context, failed.claim, failed.outcome);
  if (answer) storeAnswer(context, answer.claim, answer.answer, answer.ttl_ms);
  if (pending && isStored) addPending(context, pending);
  if (events) appendEvents(context, events.claim, events.events);
  if (changes.ends_claim) context.claims.sessions.end(claim.session_tag);
  return isStored ? 'committed' : 'session_ended';
}

function areHeld(
  { claims }: MemoryContext,
  claim: SessionClaim,
  { reply, failed, answer, events }: TurnChanges,
): boolean {
  return (
    claims.sessions.isHeld(claim.session_tag, claim.owner) &&
    (!reply || claims.inbox.isHeld(reply.claim.message.id, reply.claim.owner)) &&
    (!failed || claims.inbox.isHeld(failed.claim.message.id, failed.claim.owner)) &&
    (!answer || claims.keys.isHeld(answer.claim.key, answer.claim.owner)) &&
    (!events || claims.streams.isHeld(events.claim.stream_id, events.claim.owner))
  );
}

/** False if the session has ended. */
function storeTurn(
  context: MemoryContext,
  session_tag: string,
  { record, ttl_ms }: NonNullable<TurnChanges['turn']>,
): boolean {
  const stored = findSession(context, session_tag);
  if (!stored) return false;
  const now = context.clock.now();
  const expires_at = now + ttl_ms;
  stored.turns.push(record);
  stored.session = {
    ...stored.session,
    turns: stored.session.turns + 1,
    last_active_at: now,
    expires_at,
  };
  const count = context.state.guard_turns.get(session_tag);
  if (count) context.state.guard_turns.set(session_tag, { ...count, ends_at: expires_at });
  return true;
}
