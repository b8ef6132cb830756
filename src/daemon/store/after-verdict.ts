import type { BlockedByTurnLimit, GuardVerdict } from '../guard/verdict.ts';
import { verdictLine } from '../guard/verdict-line.ts';
import { fillIn } from '../texts/texts.ts';
import type { TraceRecord } from '../trace/trace-record.ts';
import type { Arrival, NewInboxMessage } from './inbox.ts';

/** What is stored because of a verdict; null: nothing. */
export interface AfterVerdict {
  message: NewInboxMessage | null;
  trace: TraceRecord | null;
}

const NOTHING: AfterVerdict = { message: null, trace: null };

/**
 * What `InboxStore.screen` stores of an arrival (agentd-message(7), "Loop guard"). A message that passed is stored; the
 * inbox recognizes a repeated one. A blocked message leaves a trace alone, because a reply would feed the loop; but the
 * first one over the limit of its session is answered with one notice.
 */
export function afterVerdict({ message, notice }: Arrival, verdict: GuardVerdict, now: number): AfterVerdict {
  if (verdict.allowed) return { message, trace: null };
  if (verdict.repeated) return NOTHING;
  const isNotified = verdict.reason === 'turn_limit' && verdict.first;
  return {
    message: isNotified ? { ...notice, reply: turnLimitNotice(notice.reply ?? '', verdict) } : null,
    trace: blockedTrace(message, verdict, now),
  };
}

/** What people read when their session has used up its messages: when it continues. */
function turnLimitNotice(text: string, { max, ends_at }: BlockedByTurnLimit): string {
  const time = new Date(ends_at).toISOString().slice(0, 16).replace('T', ' ');
  return fillIn(text, { max: String(max), time });
}

function blockedTrace(
  { id, request_id, session_id, message_id, platform, message }: Arrival['message'],
  verdict: GuardVerdict,
  now: number,
): TraceRecord {
  return {
    turn_id: id,
    request_id,
    session_id,
    message_id,
    platform,
    user_id: message.user_id,
    started_at: now,
    finished_at: now,
    outcome: 'loop_guard_blocked',
    lines: [{ at: now, step: 'guard', verdict: 'refused', ...verdictLine(verdict) }],
  };
}
