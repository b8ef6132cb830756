import type { Log } from '../process/log.ts';
import { shortId } from '../session/session.ts';
import { quoteValue } from '../texts/printable.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type {
  BlockedByCircuit,
  BlockedByTurnLimit,
  GuardedMessage,
  GuardUser,
  GuardVerdict,
} from './verdict.ts';

// The documented log lines (agentd-message(7), "Log lines of the guard"): people search for their exact form.

type Named = Pick<GuardUser, 'platform' | 'user_id'>;

export function duplicateLine({ platform, user_id }: Named, message_id: string): string {
  return `[LoopGuard] DUPLICATE platform=${platform} user=${quoteValue(user_id)} message_id=${message_id}`;
}

export function circuitLine({ platform, user_id }: Named, { reason, count, max }: BlockedByCircuit): string {
  const figures = reason === 'rate_limit' ? `${count}/${max}` : `count=${count}`;
  return `[LoopGuard] CIRCUIT_OPEN reason=${reason} ${figures} platform=${platform} user=${quoteValue(user_id)}`;
}

export function turnLimitLine(session_id: string, { turns, max }: BlockedByTurnLimit): string {
  return `[LoopGuard] TURN_LIMIT session=${quoteValue(shortId(session_id))} turns=${turns}/${max}`;
}

/**
 * Logs the first blocked message when a circuit opens or a session reaches its limit, and each repeat of a blocked
 * message. Further blocked messages are counted, and logged at debug.
 */
export function tell(
  verdict: GuardVerdict,
  { user, session_id, message_id }: GuardedMessage,
  request_id: string,
  log: Pick<Log, 'debug' | 'info' | 'warn'>,
): void {
  // If a message that passed arrives again, the inbox logs the repeat. The guard cannot know whether it is a repeat,
  // because the message may have been lost before it was stored the first time.
  if (verdict.allowed) return;
  if (verdict.repeated) {
    if (message_id !== null) log.info({ request_id }, duplicateLine(user, message_id));
  } else if (verdict.reason === 'turn_limit' && verdict.first) {
    log.warn({ request_id }, turnLimitLine(session_id, verdict));
  } else if (verdict.reason !== 'turn_limit' && verdict.opened) {
    log.warn({ request_id }, circuitLine(user, verdict));
  } else {
    const { reason, blocked } = verdict;
    log.debug({ request_id, reason, blocked }, 'message blocked by the loop guard');
  }
}

/** The line of a verdict in the trace: its reason, and the counters that show how near the limits were. */
export function verdictLine(verdict: GuardVerdict): Pick<TraceLine, 'reason' | 'detail'> {
  if (verdict.allowed) {
    const { messages, equal_texts, turns } = verdict;
    return { detail: { messages, equal_texts, turns } };
  }
  const { reason, max, blocked } = verdict;
  if (verdict.reason === 'turn_limit') return { reason, detail: { turns: verdict.turns, max, blocked } };
  return { reason, detail: { count: verdict.count, max, blocked, retry_after_ms: verdict.retry_after_ms } };
}
