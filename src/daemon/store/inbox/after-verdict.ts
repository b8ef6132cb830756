import { fillIn } from '../../../channel/index.ts';
import { type BlockedByTurnLimit, type GuardVerdict, verdictLine } from '../../guard/verdict.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { NewInboxMessage, ScreenedMessage } from './inbox.ts';

/** The records to store because of a verdict. Each member is null if there is nothing to store. */
interface AfterVerdict {
  message: NewInboxMessage | null;
  trace: TraceRecord | null;
}

/**
 * The records that `InboxStore.screen` stores for an arrival (agentd-message(7), "Loop guard"). A message that passed
 * is stored. For a blocked message, only a trace is stored, because a reply would feed the loop. There is one
 * exception: the first message over the limit of its session is answered with a notice. If the platform delivers the
 * message again, everything except the trace is returned again, because the inbox may have been full before. The inbox
 * uses the `message_id` to recognize messages that it has already stored.
 */
export function afterVerdict(arrival: ScreenedMessage, verdict: GuardVerdict, now: number): AfterVerdict {
  const { message, agent_digest } = arrival;
  if (verdict.allowed) return { message, trace: null };
  const isNotified = verdict.reason === 'turn_limit' && verdict.first;
  return {
    message: isNotified ? turnLimitNotice(message, arrival.notice, verdict) : null,
    trace: verdict.repeated ? null : blockedTrace(message, verdict, now, agent_digest),
  };
}

/** The notice for people whose session has reached its message limit. It says when the session continues. */
function turnLimitNotice(
  { message_id }: ScreenedMessage['message'],
  notice: NewInboxMessage,
  { max, ends_at }: BlockedByTurnLimit,
): NewInboxMessage {
  const time = new Date(ends_at).toISOString().slice(0, 16).replace('T', ' ');
  return { ...notice, message_id, reply: fillIn(notice.reply ?? '', { max: String(max), time }) };
}

function blockedTrace(
  { id, request_id, session_id, message_id, platform, message }: ScreenedMessage['message'],
  verdict: GuardVerdict,
  now: number,
  agent_digest: string | undefined,
): TraceRecord {
  return {
    turn_id: id,
    request_id,
    session_id,
    message_id,
    platform,
    user_id: message.user_id,
    ...(agent_digest === undefined ? {} : { agent_digest }),
    started_at: now,
    finished_at: now,
    outcome: 'loop_guard_blocked',
    lines: [{ at: now, step: 'guard', verdict: 'refused', ...verdictLine(verdict) }],
  };
}
