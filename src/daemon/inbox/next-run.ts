import { backOff, LONGEST_MS, withinBudget } from '../back-off.ts';
import type { Settings } from '../settings/settings.ts';
import type { AttemptOutcome, FinalFailure, InboxMessage } from '../store/inbox.ts';
import type { Texts } from '../texts/texts.ts';
import type { RunFailure } from './failure.ts';

type Budgets = Pick<Settings, 'INBOX_MAX_ATTEMPTS' | 'INBOX_RUN_SECONDS'>;

/**
 * What happens after a failed run. Runs that fail for a temporary reason are repeated until INBOX_RUN_SECONDS after the
 * first one began, all others until INBOX_MAX_ATTEMPTS have failed (agentd-message(7)).
 * @param message as it was claimed, with the failed run counted
 */
export function afterFailedRun(
  message: InboxMessage,
  { failure, kind, askedSeconds }: RunFailure,
  { INBOX_MAX_ATTEMPTS, INBOX_RUN_SECONDS }: Budgets,
  now: number,
  services: { texts: Texts },
): AttemptOutcome {
  const { attempts, passing, first_run_at } = message;
  const wait_ms = backOff(attempts, LONGEST_MS.run, askedSeconds);
  if (kind === 'passing') {
    const allowed_ms = withinBudget(wait_ms, (first_run_at ?? now) + INBOX_RUN_SECONDS * 1000, now);
    if (allowed_ms !== null) return { kind: 'again', wait_ms: allowed_ms, failure, counts: false };
  } else if (kind === 'counts' && attempts - passing < INBOX_MAX_ATTEMPTS) {
    return { kind: 'again', wait_ms, failure, counts: true };
  }
  return failedForGood(message, failure, services);
}

/** The sender gets a notice, unless the message is itself a notice, which nobody wrote. */
export function failedForGood(
  { session_id, message }: InboxMessage,
  failure: string,
  { texts }: { texts: Texts },
): FinalFailure {
  return session_id === null
    ? { kind: 'failed', failure }
    : { kind: 'notify', notice: texts.in(message?.locale).say('failure_notice'), failure };
}

/** Whether the process has died during the maximum number of runs of this message, not counting this one. */
export function isInterruptedTooOften(
  { attempts, passing }: InboxMessage,
  { INBOX_MAX_ATTEMPTS }: Pick<Budgets, 'INBOX_MAX_ATTEMPTS'>,
): boolean {
  return attempts - passing > INBOX_MAX_ATTEMPTS;
}
