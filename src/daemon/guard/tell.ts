import type { Log } from '../log.ts';
import { circuitLine, duplicateLine, turnLimitLine } from './lines.ts';
import type { GuardedMessage, GuardVerdict } from './verdict.ts';

/**
 * Logs the first message of a block: a circuit that opens, a session that reaches its limit; and blocked messages
 * that are repeated. Further blocks are counted, and logged at debug.
 */
export function tell(
  verdict: GuardVerdict,
  { user, session_id, message_id }: GuardedMessage,
  request_id: string,
  log: Pick<Log, 'debug' | 'info' | 'warn'>,
): void {
  // The repeat of a message that passed is logged by the inbox, if it has the message: the message may have been lost
  // before it was stored.
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
