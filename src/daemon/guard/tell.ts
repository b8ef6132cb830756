import type { Log } from '../process/log.ts';
import { circuitLine, duplicateLine, turnLimitLine } from './lines.ts';
import type { GuardedMessage, GuardVerdict } from './verdict.ts';

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
