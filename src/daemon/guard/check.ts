import type { House } from '../house.ts';
import { textHash } from './equal-text.ts';
import { guardLimits } from './limits.ts';
import { circuitLine, duplicateLine, turnLimitLine } from './lines.ts';
import type { GuardedMessage, GuardVerdict } from './verdict.ts';

/**
 * Has a message checked, and logs what the verdict is news of: a circuit that opens, a session that reaches
 * its limit, a blocked message that comes again. Further blocks are counted, and told at debug.
 * @param text as it is kept, tokens masked.
 */
export async function checkMessage(
  { store, settings, log }: Pick<House, 'store' | 'settings' | 'log'>,
  message: Omit<GuardedMessage, 'text'> & { text: string; request_id: string },
): Promise<GuardVerdict> {
  const { request_id, user, session_id, text, message_id, sent_at } = message;
  const verdict = await store.guard.check(
    { user, session_id, text: textHash(text), message_id, sent_at },
    guardLimits(settings),
  );
  tell(verdict, { user, session_id, message_id, request_id }, log);
  return verdict;
}

function tell(
  verdict: GuardVerdict,
  of: Pick<GuardedMessage, 'user' | 'session_id' | 'message_id'> & { request_id: string },
  log: House['log'],
): void {
  const { request_id, user, session_id, message_id } = of;
  // A repeat of what was let through is told where it turns out to be known: it may have been lost in between.
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
