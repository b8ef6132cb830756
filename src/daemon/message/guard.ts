import { AgentdError } from '../errors.ts';
import { type GuardVerdict, logVerdict, toGuardLimits, verdictLine } from '../guard/verdict.ts';
import { findAnsweredQuestion } from './find-answered-question.ts';
import { guardUser, identifySender, requestHash, textHash } from './keys.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type {
  Arrived,
  Authorized,
  Deduplicated,
  Guarded,
  Identified,
  NamedSession,
  Resolved,
} from './turn.ts';

type Uses = Pick<Services, 'store' | 'settings' | 'texts' | 'log'>;

type Turn = Arrived & Identified & Authorized & Pick<Deduplicated, 'counted_before'>;

/**
 * The loop guard: open circuit, burst, repetition, turns of the session (agentd-message(7), "Loop guard"). It does not
 * wait for the session. Therefore it recognizes a burst even while answers are slow, and a blocked message does not
 * wait for other messages. Repeats of a message were recognized by an earlier step, unless they arrived at the same time.
 * A repeat of a request that was counted before passes without being counted again, and an answer to a question counts
 * for nothing.
 *
 * Adds `counted_in`. Throws `loop_guard_blocked`; a blocked message has not changed its session.
 */
export const guard: Step<Turn, Guarded> = {
  name: 'guard',
  async run(turn, services: Uses, line) {
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
      user: guardUser(identifySender(turn)),
      session_id: turn.session_tag,
      text: (await findAnsweredQuestion(turn.message, turn.session_tag, services))
        ? null
        : textHash(turn.message.text),
      message_id: null,
      request: requestHash(turn.message),
      sent_at: null,
    };
    const verdict = await store.guard.check(guarded, toGuardLimits(settings));
    logVerdict(verdict, { ...guarded, session_id: turn.session_id }, turn.request_id, log);
    if (verdict.allowed && verdict.repeated) {
      line.reason = 'counted_before';
      return { counted_in: null };
    }
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

/**
 * The loop guard checked this message when it was stored, and counted its turn in the session that the message had
 * then. This step prepares to subtract that turn if the message does not run in that session. Adds nothing; never ends
 * the turn.
 */
export const guardedOnArrival: Step<Arrived & Authorized & Guarded, object> = {
  name: 'guard',
  run(turn, services: Uses, line) {
    line.reason = turn.counted_in === null ? 'guard_off' : 'checked_on_arrival';
    if (turn.counted_in !== null) returnUnusedTurn(turn, turn.counted_in, services);
    return {};
  },
};

/**
 * Prepares to subtract the turn that the loop guard has counted for this session. It is subtracted if the message fails
 * before it runs, or runs in another session.
 */
function returnUnusedTurn(turn: Arrived & NamedSession, counted_in: string, { store }: Uses): void {
  turn.defer((failed) => {
    const { principal, session_tag: ran_in } = turn as NamedSession & Partial<Resolved>;
    const ran_elsewhere = principal !== undefined && ran_in !== counted_in;
    const isUnused = ran_elsewhere || (failed && !principal);
    return isUnused ? store.guard.giveBackTurn(counted_in) : undefined;
  });
}
