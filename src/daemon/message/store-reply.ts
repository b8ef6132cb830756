import { keepTurn } from './keep-turn.ts';
import type { Step } from './sequence.ts';
import type { Answered, Arrived, Bound, InTurn, Opened, Repeatable, Stored } from './turn.ts';

/** How long an answer is found again by its Idempotency-Key (decisions §6). */
const ANSWER_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * The reply and the turn are kept before anything leaves, so that what was answered survives a crash.
 *
 * Checks that the session's lease was not lost. A message of the inbox keeps its reply with it, an event stream
 * ends with it. Adds `stored`. Throws `unavailable` when the store cannot be written: then nothing was
 * answered.
 */
export const storeReply: Step<Arrived & Repeatable & InTurn & Opened & Bound & Answered, Stored> = {
  name: 'store-reply',
  async run(turn, services, line) {
    turn.lease.lost.throwIfAborted();
    await turn.stream?.settled();
    const reader = turn.stream?.reader ?? null;
    const answer = { session_id: turn.session_id, response: turn.reply, reader };
    // Asked for together, they are durable together.
    const [keptByInbox, kept] = await Promise.all([
      turn.inbox?.keepReply(turn.reply) ?? true,
      keepTurn(turn, services, { outcome: 'answered', reply: turn.reply, stopped: turn.stopped }),
      turn.idempotency_key && services.store.idempotency.finish(turn.idempotency_key, answer, ANSWER_TTL_MS),
      turn.stream?.complete(turn.reply, turn.stopped),
    ]);
    if (!keptByInbox) line.detail = { inbox: 'taken away' };
    if (!kept) line.reason = 'session_ended_meanwhile';
    return { stored: true };
  },
};
