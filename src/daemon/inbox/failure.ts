import { AgentFailure } from '../agent/agent.ts';
import { requestedWait } from '../agent/requested-wait.ts';
import { AgentdError } from '../errors.ts';
import { DeliveryFailed } from '../message/delivery-failed.ts';
import { maskTokens } from '../settings/secret.ts';
import { isNetworkFailure } from '../time/network-failure.ts';
import type { PlatformFailure } from './platform-reach.ts';

/** Maximum length of the reason that is stored with a message, in characters. */
const FAILURE_MAX = 500;

/** The failure of a run, and its consequence for the next run. */
export interface RunFailure {
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
export function failureOfDelivery(kind: 'failed' | 'refused', error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return maskTokens(`delivery_${kind}: ${words}`).slice(0, FAILURE_MAX).toWellFormed();
}

/** The failure of the platform as a whole that a failed delivery indicates; null if it indicates none. */
export function platformFailureOf(error: unknown): PlatformFailure | null {
  const words = failureOfDelivery('failed', error);
  if (error instanceof DeliveryFailed) {
    const { platform: reason, retry_after_seconds: askedSeconds } = error;
    return reason === null ? null : { reason, words, askedSeconds };
  }
  return isNetworkFailure(error) ? { reason: 'unreachable', words, askedSeconds: 0 } : null;
}
