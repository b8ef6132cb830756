import { AgentdError } from '../errors.ts';
import { guardLimits } from '../guard/limits.ts';
import { tell } from '../guard/tell.ts';
import { guardUser } from '../guard/user.ts';
import type { GuardVerdict } from '../guard/verdict.ts';
import { verdictLine } from '../guard/verdict-line.ts';
import { guardedText } from './guarded-text.ts';
import { returnUnusedTurn } from './return-unused-turn.ts';
import { senderOf } from './sender-of.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Deduplicated, Guarded, Identified } from './turn.ts';

type Turn = Arrived & Identified & Authorized & Pick<Deduplicated, 'counted_before'>;

/**
 * The loop guard: open circuit, burst, repetition, turns of the session (agentd-message(7), "Loop guard"). It does not
 * wait for the session. Therefore it recognizes a burst even while answers are slow, and a blocked message does not
 * wait for other messages. Repeats of a message were recognized by an earlier step. A repeat of a request that failed
 * after it was counted passes without being counted again, and an answer to a question counts for nothing.
 *
 * Adds `counted_in`. Throws `loop_guard_blocked`; a blocked message has not changed its session.
 */
export const guard: Step<Turn, Guarded> = {
  name: 'guard',
  async run(turn, services, line) {
    const { settings, store, log } = services;
    if (!settings.LOOP_GUARD_ENABLED) {
      line.reason = 'guard_off';
      return { counted_in: null };
    }
    if (turn.counted_before) {
      line.reason = 'counted_before';
      return { counted_in: null };
    }
    const guarded = {
      user: guardUser(senderOf(turn)),
      session_id: turn.session_tag,
      text: await guardedText(turn.message, turn.session_tag, services),
      message_id: null,
      sent_at: null,
    };
    const verdict = await store.guard.check(guarded, guardLimits(settings));
    tell(verdict, { ...guarded, session_id: turn.session_id }, turn.request_id, log);
    Object.assign(line, verdictLine(verdict));
    if (!verdict.allowed) throw blocked(verdict);
    if (guarded.text === null) {
      line.reason = 'not_counted';
      return { counted_in: null };
    }
    returnUnusedTurn(turn, turn.session_tag, services);
    return { counted_in: turn.session_tag };
  },
};

const DETAIL = {
  rate_limit: 'Too many messages in a short time.',
  repetition: 'The same message was sent too often.',
  turn_limit: 'This session has reached its message limit.',
} as const;

function blocked(verdict: Extract<GuardVerdict, { allowed: false }>): AgentdError {
  const { reason } = verdict;
  return new AgentdError('loop_guard_blocked', DETAIL[reason], {
    members: { reason },
    ...(verdict.reason === 'turn_limit' ? {} : { retryAfter: verdict.retry_after_ms / 1000 }),
  });
}
