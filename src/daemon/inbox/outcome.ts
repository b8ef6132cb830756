import type { DeliveryFailure } from '../../channel/index.ts';
import { AgentFailure, requestedWait } from '../agent/agent.ts';
import { AgentdError } from '../errors.ts';
import { maskTokens } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { AttemptOutcome, FinalFailure, InboxMessage } from '../store/inbox/inbox.ts';
import { describeThrown } from '../syntax/source-location.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { backOff, isNetworkFailure, LONGEST_MS, withinBudget } from '../time/retry.ts';
import type { PlatformFailure } from './platform-reach.ts';

/** Maximum length of the reason that is stored with a message, in characters. */
const FAILURE_MAX = 500;

/** The failure of a run, and its consequence for the next run. */
interface RunFailure {
  /** A code, and the reason if there is one: for example `agent_failed: model_refused`. */
  failure: string;
  /**
   * `final`: another run would fail for the same reason. `passing`: the cause is temporary, so the run does not count.
   * `counts`: any other failure.
   */
  kind: 'final' | 'passing' | 'counts';
  /** How long the model asks to wait, seconds; 0 if it does not ask. */
  askedSeconds: number;
}

/**
 * Judges a failed run. The failure is `final` if a model answers a 4xx other than 408 and 429, or if the message was
 * refused. It is `passing` if a model or the store cannot be reached, if a model answers 408, 429 or 5xx, or if the run
 * took too long, because it probably waited for something that does not respond. The time budget limits `passing` runs,
 * too.
 */
export function judgeRun(error: unknown): RunFailure {
  if (!(error instanceof AgentdError)) {
    const name = error instanceof Error ? error.name : 'unknown';
    return { failure: `internal_error: ${name}`, kind: 'counts', askedSeconds: 0 };
  }
  const { cause } = error;
  const reason = cause instanceof AgentFailure ? cause.reason : undefined;
  const failure = reason === undefined ? error.code : `${error.code}: ${reason}`;
  if (error.status < 500 || reason === 'model_refused') return { failure, kind: 'final', askedSeconds: 0 };
  const { passing } = (cause ?? {}) as { passing?: unknown };
  const isPassing =
    error.code === 'unavailable' ||
    error.code === 'agent_timeout' ||
    (error.code === 'agent_failed' &&
      (passing === true || (reason === undefined && isNetworkFailure(cause))));
  if (!isPassing) return { failure, kind: 'counts', askedSeconds: 0 };
  return { failure, kind: 'passing', askedSeconds: requestedWait(cause) };
}

/**
 * Why a delivery failed, in the platform's words, without tokens: for example `delivery_refused: channel_not_found`.
 */
export function describeDeliveryFailure(kind: 'failed' | 'refused', error: unknown): string {
  return maskTokens(`delivery_${kind}: ${wordsOf(error)}`)
    .slice(0, FAILURE_MAX)
    .toWellFormed();
}

/** Errors of the channel's own code, unless they come from the network. Their author needs the file and line. */
const DEFECTS = [TypeError, ReferenceError, RangeError] as const;

function wordsOf(error: unknown): string {
  const isDefect = DEFECTS.some((kind) => error instanceof kind) && !isNetworkFailure(error);
  if (isDefect) return describeThrown(error);
  return error instanceof Error ? error.message : String(error);
}

/** The failure of the platform as a whole that a failed delivery indicates; null if it indicates none. */
export function toPlatformFailure(error: unknown): PlatformFailure | null {
  const words = describeDeliveryFailure('failed', error);
  if (error instanceof DeliveryFailed) {
    const { platform: reason, retry_after_seconds: askedSeconds } = error;
    return reason === null ? null : { reason, words, askedSeconds };
  }
  return isNetworkFailure(error) ? { reason: 'unreachable', words, askedSeconds: 0 } : null;
}

/**
 * The error that a channel's `send` throws if the platform did not accept a text (`scope.deliveryFailed`). Unless it is
 * `final`, the text may be sent again, as after any other error.
 */
export class DeliveryFailed extends Error {
  /** Whether the platform refused this text and would refuse it again. */
  readonly final: boolean;
  /** How long the platform asks to wait, seconds; 0 if it does not ask. */
  readonly retry_after_seconds: number;
  /** What the failure means for the platform as a whole. Null if it concerns only this text or the rate of texts. */
  readonly platform: 'unreachable' | 'credentials' | null;

  /** @param reason the platform's own words, for the operator; never contains a secret. */
  constructor(reason: string, { final, retry_after_seconds = 0, platform }: DeliveryFailure) {
    super(reason);
    this.name = 'DeliveryFailed';
    this.platform = platform ?? null;
    // A platform that cannot be reached, or refuses the channel's credentials, has not judged the text.
    this.final = final && this.platform === null;
    this.retry_after_seconds = retry_after_seconds > 0 ? retry_after_seconds : 0;
  }
}

type Budgets = Pick<Settings, 'INBOX_MAX_ATTEMPTS' | 'INBOX_RUN_SECONDS'>;

/**
 * Decides what happens after a failed run (agentd-message(7)). A run whose failure is final is not repeated. Runs that
 * fail for a temporary reason are repeated until INBOX_RUN_SECONDS after the first run began. All others are repeated
 * until INBOX_MAX_ATTEMPTS of them have failed.
 * @param message the message as it was claimed, with the failed run counted.
 * @param texts the texts for its sender.
 */
export function decideAfterRun(
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
  return toFinalFailure(message, failure, texts);
}

/**
 * The outcome of a message that has failed for good. The sender gets a notice, unless the message has no session: then
 * it is a text that agentd itself sends, and has no sender.
 */
export function toFinalFailure(
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
