import { AgentdError } from '../errors.ts';
import { checkMessage } from '../guard/check.ts';
import { guardUser } from '../guard/user.ts';
import type { GuardUser, GuardVerdict } from '../guard/verdict.ts';
import { verdictLine } from '../guard/verdict-line.ts';
import type { Services } from '../services.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Step } from './sequence.ts';
import type { Admitted, Arrived, Bound, Guarded, Identified } from './turn.ts';

type Turn = Arrived & Identified & Admitted;

/**
 * The loop guard: open circuit, burst, repetition, turns of the session (decisions §7). Repeats were
 * recognised before. It stands before the session's line, so that a burst is one also where answers are slow,
 * and what it blocks waits for nobody.
 *
 * Needs the sender to be admitted. Adds `guarded`. Throws `loop_guard_blocked`; the message has changed
 * nothing of its session then. Messages that are answered later, or on an event stream, were checked when
 * they arrived.
 */
export const guard: Step<Turn, Guarded> = {
  name: 'guard',
  async run(turn, services, line) {
    if (!services.settings.LOOP_GUARD_ENABLED) {
      line.reason = 'guard_off';
      return { guarded: true };
    }
    if (turn.channel.capabilities.reply !== 'in-request') {
      line.reason = 'checked_on_arrival';
      return { guarded: true };
    }
    if (turn.stream) line.reason = 'checked_on_arrival';
    else await check(turn, services, line);
    const { session_tag } = turn;
    turn.onEnd(async (failed) => {
      const { acting, session_tag: ran_in } = turn as Turn & Partial<Bound>;
      const ran_elsewhere = acting !== undefined && ran_in !== session_tag;
      if (ran_elsewhere || (failed && !acting)) await services.store.guard.giveBackTurn(session_tag);
    });
    return { guarded: true };
  },
};

async function check(turn: Turn, services: Services, line: StepLine): Promise<void> {
  const { session_id, session_tag, message, request_id } = turn;
  // A request that failed may be repeated under its Idempotency-Key, and is checked anew then.
  const verdict = await checkMessage(services, {
    user: guardUser(senderOf(turn)),
    session_id,
    session_tag,
    text: message.text,
    message_id: null,
    sent_at: null,
    request_id,
  });
  Object.assign(line, verdictLine(verdict));
  if (!verdict.allowed) throw blocked(verdict);
}

/** Who sends, as far as the guard's keys go. */
export function senderOf({ message, presented, address }: Arrived & Identified): Omit<GuardUser, 'key'> {
  const { platform, user_id } = message;
  return presented.kind === 'person'
    ? { platform, user_id, person: presented.verdict.person, address: null }
    : { platform, user_id, person: null, address: address ?? '' };
}

const DETAIL = {
  rate_limit: 'Too many messages in a short time.',
  repetition: 'The same message was sent too often.',
  turn_limit: 'This session has had as many messages as a session may have.',
} as const;

function blocked(verdict: Extract<GuardVerdict, { allowed: false }>): AgentdError {
  const { reason } = verdict;
  return new AgentdError('loop_guard_blocked', DETAIL[reason], {
    members: { reason },
    ...(verdict.reason === 'turn_limit' ? {} : { retryAfter: verdict.retry_after_ms / 1000 }),
  });
}
