import { AgentFailure } from '../agent/agent.ts';
import { AgentdError } from '../errors.ts';
import { maskTokens } from '../secret.ts';

/** Longest reason that is kept with a message, in characters. */
const FAILURE_MAX = 500;

/**
 * Whether another run would fail the same way: the model refused the request (a 4xx other than 408 and 429,
 * decisions §6), or the message itself was refused.
 */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof AgentdError)) return false;
  return error.status < 500 || reasonOf(error) === 'model_refused';
}

/** Of a run: `agent_failed: model_refused`, `agent_timeout`, `internal_error: TypeError`. */
export function failureOfRun(error: unknown): string {
  if (!(error instanceof AgentdError))
    return `internal_error: ${error instanceof Error ? error.name : 'unknown'}`;
  const reason = reasonOf(error);
  return reason === undefined ? error.code : `${error.code}: ${reason}`;
}

/** Of a delivery: `delivery_refused: channel_not_found`; in the platform's words, without tokens. */
export function failureOfDelivery(kind: 'failed' | 'refused', error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return maskTokens(`delivery_${kind}: ${words}`).slice(0, FAILURE_MAX).toWellFormed();
}

function reasonOf({ cause }: AgentdError): string | undefined {
  return cause instanceof AgentFailure ? cause.reason : undefined;
}
