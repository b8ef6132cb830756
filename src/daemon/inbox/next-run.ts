import type { Settings } from '../settings/settings.ts';
import type { AttemptOutcome, FinalFailure, InboxMessage } from '../store/inbox.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { backOff, LONGEST_MS, withinBudget } from '../time/back-off.ts';
import type { RunFailure } from './failure.ts';

type Budgets = Pick<Settings, 'INBOX_MAX_ATTEMPTS' | 'INBOX_RUN_SECONDS'>;

/**
 * Decides what happens after a failed run (agentd-message(7)). A run whose failure is final is not repeated. Runs that
 * fail for a temporary reason are repeated until INBOX_RUN_SECONDS after the first run began. All others are repeated
 * until INBOX_MAX_ATTEMPTS of them have failed.
 * @param message the message as it was claimed, with the failed run counted.
 * @param texts the texts for its sender.
 */
export function afterFailedRun(
  message: InboxMessage,
  { failure, kind, askedSeconds }: RunFailure,
  { INBOX_MAX_ATTEMPTS, INBOX_RUN_SECONDS }: Budgets,
  now: number,
  texts: LocalTexts,
): AttemptOutcome {
  const { attempts, passing, first_run_at } = message;
  const wait_ms = backOff(attempts, LONGEST_MS.run, askedSeconds);
  if (kind === 'passing') {
    const allowed_ms = withinBudget(wait_ms, (first_run_at ?? now) + INBOX_RUN_SECONDS * 1000, now);
    if (allowed_ms !== null) return { kind: 'again', wait_ms: allowed_ms, failure, counts: false };
  } else if (kind === 'counts' && attempts - passing < INBOX_MAX_ATTEMPTS) {
    return { kind: 'again', wait_ms, failure, counts: true };
  }
  return failedForGood(message, failure, texts);
}

/**
 * The outcome of a message that has failed for good. The sender gets a notice, unless the message has no session: then
 * it is a text that agentd itself sends, and has no sender.
 */
export function failedForGood(
  { session_id }: Pick<InboxMessage, 'session_id'>,
  failure: string,
  texts: LocalTexts,
): FinalFailure {
  return session_id === null
    ? { kind: 'failed', failure }
    : { kind: 'notify', notice: texts.say('failure_notice'), failure };
}

/**
 * Whether the earlier runs of this message that count have used up INBOX_MAX_ATTEMPTS. Runs count if they failed, or if
 * the process died during them, but not if they failed for a temporary reason.
 */
export function isInterruptedTooOften(
  { attempts, passing }: InboxMessage,
  { INBOX_MAX_ATTEMPTS }: Pick<Budgets, 'INBOX_MAX_ATTEMPTS'>,
): boolean {
  return attempts - passing > INBOX_MAX_ATTEMPTS;
}
