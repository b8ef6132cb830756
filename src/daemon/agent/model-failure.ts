import { APICallError, InvalidResponseDataError, RetryError } from 'ai';
import type { Secret } from '../secret.ts';
import { AgentFailure } from './agent.ts';
import { providerWords } from './provider-words.ts';

/**
 * What a failing model means, as a coded failure for the trace:
 * `model_unreachable` (no answer to the connection), `model_overloaded` (429, 408, 5xx, after all retries),
 * `model_refused` (another 4xx: key, name, size of the prompt; trying again mends nothing),
 * `model_broken_stream` (the answer ended before its end, or is not what the protocol says).
 *
 * The SDK's error holds the whole prompt, so neither it nor its message goes on; only its name, its status and
 * what the server said of the refusal (provider-words.ts).
 * @param key that the model was asked with.
 */
export function modelFailure(error: unknown, key?: Secret): AgentFailure {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  if (APICallError.isInstance(last)) return ofCall(last, wordsOf(last, key));
  if (InvalidResponseDataError.isInstance(last)) return broken(last.name);
  return broken(last instanceof Error ? last.name : 'error in the stream');
}

/**
 * The name of an SDK error with its status and the server's words, or the code of the connection's failure: all that
 * may be logged of it.
 */
export function describeModelError(
  error: unknown,
  key?: Secret,
): { name: string; status?: number; said?: string; code?: string } {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  const name = last instanceof Error ? last.name : 'StreamError';
  if (APICallError.isInstance(last) && last.statusCode !== undefined) {
    const said = wordsOf(last, key);
    return { name, status: last.statusCode, ...(said === null ? {} : { said }) };
  }
  const code = connectionCode(last);
  return code === undefined ? { name } : { name, code };
}

/** `ECONNREFUSED`, `ENOTFOUND`, …, of the error or of what caused it. */
function connectionCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return undefined;
}

function ofCall({ statusCode: status, isRetryable }: APICallError, said: string | null): AgentFailure {
  if (status === undefined)
    return new AgentFailure('model_unreachable', 'the model server cannot be reached');
  if (status >= 200 && status < 300) return broken(`status ${status}`);
  const words = said === null ? '' : `: ${said}`;
  const detail = { status, ...(said === null ? {} : { said }) };
  return isRetryable
    ? new AgentFailure(
        'model_overloaded',
        `the model server answered ${status}, also when tried again${words}`,
        { detail },
      )
    : new AgentFailure('model_refused', `the model server refused the request with ${status}${words}`, {
        detail,
      });
}

function wordsOf({ responseBody, requestBodyValues }: APICallError, key: Secret | undefined): string | null {
  return providerWords(responseBody, { key, request: requestBodyValues });
}

function broken(what: string): AgentFailure {
  return new AgentFailure('model_broken_stream', `the model's answer broke off or cannot be read (${what})`);
}
