import { checkMessage } from '../guard/check.ts';
import { guardUser } from '../guard/user.ts';
import type { BlockedByTurnLimit, GuardVerdict } from '../guard/verdict.ts';
import { verdictLine } from '../guard/verdict-line.ts';
import type { House } from '../house.ts';
import type { NewInboxMessage } from '../store/store.ts';

export interface GuardedArrivals {
  /** To be kept, in their order. */
  through: NewInboxMessage[];
  /** The first messages over the limit of their sessions: their senders are told once. */
  overLimit: { message: NewInboxMessage; verdict: BlockedByTurnLimit }[];
}

/**
 * Has the loop guard check messages as they arrive (decisions §7): the platform's time is the guard's clock,
 * and a delivery that is repeated gets the first verdict. What is blocked is kept as a trace alone; a reply
 * would feed the loop.
 */
export async function guardArrivals(
  house: House,
  arrived: readonly NewInboxMessage[],
): Promise<GuardedArrivals> {
  const arrivals: GuardedArrivals = { through: [], overLimit: [] };
  if (!house.settings.LOOP_GUARD_ENABLED) return { ...arrivals, through: [...arrived] };
  // Asked for together, they are durable together.
  const verdicts = await Promise.all(arrived.map((entry) => check(house, entry)));
  const traces: Promise<void>[] = [];
  arrived.forEach((message, index) => {
    const verdict = verdicts[index] ?? null;
    if (verdict === null || verdict.allowed) {
      arrivals.through.push(message);
    } else if (!verdict.repeated) {
      traces.push(keepTrace(house, message, verdict));
      if (verdict.reason === 'turn_limit' && verdict.first) arrivals.overLimit.push({ message, verdict });
    }
  });
  await Promise.all(traces);
  return arrivals;
}

/** What people read when their session is used up: when it goes on (decisions §6). */
export function turnLimitNotice({ max, ends_at }: BlockedByTurnLimit): string {
  const when = new Date(ends_at).toISOString().slice(0, 16).replace('T', ' ');
  return `This conversation has had all of its ${max} messages. It goes on after ${when} (UTC).`;
}

/** Null for a text that nobody sent: the guard looks at messages only. */
function check(house: House, entry: NewInboxMessage): Promise<GuardVerdict> | null {
  const { message, session_id, platform, message_id, sent_at, request_id } = entry;
  if (message === null || session_id === null) return null;
  const user = guardUser({ platform, user_id: message.user_id, person: null, address: null });
  return checkMessage(house, { user, session_id, text: message.text, message_id, sent_at, request_id });
}

function keepTrace(
  { store, clock }: House,
  { id, request_id, session_id, message_id, platform, message }: NewInboxMessage,
  verdict: GuardVerdict,
): Promise<void> {
  const now = clock.now();
  return store.traces.keep({
    turn_id: id,
    request_id,
    session_id,
    message_id,
    platform,
    user_id: message?.user_id ?? null,
    started_at: now,
    finished_at: now,
    outcome: 'loop_guard_blocked',
    lines: [{ at: now, step: 'guard', verdict: 'refused', ...verdictLine(verdict) }],
  });
}
