import { APICallError, InvalidResponseDataError, RetryError } from 'ai';
import { AgentFailure } from './agent.ts';

/**
 * What a failing model means, as a coded failure for the trace:
 * `model_unreachable` (no answer to the connection), `model_overloaded` (429, 408, 5xx, after all retries),
 * `model_refused` (another 4xx: key, name, size of the prompt; trying again mends nothing),
 * `model_broken_stream` (the answer ended before its end, or is not what the protocol says).
 *
 * The SDK's error holds the whole prompt, so neither it nor its message goes on; only its name and status.
 */
export function modelFailure(error: unknown): AgentFailure {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  if (APICallError.isInstance(last)) return ofCall(last.statusCode, last.isRetryable);
  if (InvalidResponseDataError.isInstance(last)) return broken(last.name);
  return broken(last instanceof Error ? last.name : 'error in the stream');
}

/** The name and status of an SDK error: all that may be logged of it. */
export function describeModelError(error: unknown): { name: string; status?: number } {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  const name = last instanceof Error ? last.name : 'StreamError';
  return APICallError.isInstance(last) && last.statusCode !== undefined
    ? { name, status: last.statusCode }
    : { name };
}

function ofCall(status: number | undefined, isRetryable: boolean): AgentFailure {
  if (status === undefined)
    return new AgentFailure('model_unreachable', 'the model server cannot be reached');
  if (status >= 200 && status < 300) return broken(`status ${status}`);
  if (isRetryable)
    return new AgentFailure('model_overloaded', `the model server answered ${status}, also when tried again`);
  return new AgentFailure('model_refused', `the model server refused the request with ${status}`);
}

function broken(what: string): AgentFailure {
  return new AgentFailure('model_broken_stream', `the model's answer broke off or cannot be read (${what})`);
}
