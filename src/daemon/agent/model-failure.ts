import { APICallError } from 'ai';
import { retryAfterSeconds } from '../../channel/index.ts';
import type { Secret } from '../settings/secret.ts';
import { isNetworkFailure } from '../time/retry.ts';
import { AgentFailure } from './agent.ts';
import { providerWords } from './provider-words.ts';

/**
 * The coded failure of a model call, for the trace: `model_unreachable` (there was no answer), `model_overloaded` (408,
 * 429, 5xx), `model_refused` (another 4xx, because of the key, the model's name or the size of the prompt, for example;
 * a repeat would be refused, too), `model_broken_stream` (the answer broke off, or does not follow the protocol). The
 * first two are temporary. So is `model_broken_stream` if the network broke the stream.
 *
 * The SDK's error contains the whole prompt, so neither the error nor its message is passed on. Only its name, its
 * status and the server's words about the refusal (provider-words.ts) are passed on.
 * @param keys API keys of the models
 */
export function modelFailure(error: unknown, keys: readonly Secret[] = []): AgentFailure {
  if (APICallError.isInstance(error)) return ofCall(error, wordsOf(error, keys));
  const passing = isNetworkFailure(error);
  return broken(error instanceof Error ? error.name : 'error in the stream', passing);
}

/**
 * The name of an SDK error with its status and the server's words, or the code of the connection failure. Nothing else
 * of the error may be logged.
 */
export function describeModelError(
  error: unknown,
  keys: readonly Secret[],
): { name: string; status?: number; said?: string; code?: string } {
  const name = error instanceof Error ? error.name : 'StreamError';
  if (APICallError.isInstance(error) && error.statusCode !== undefined) {
    const said = wordsOf(error, keys);
    return { name, status: error.statusCode, ...(said === null ? {} : { said }) };
  }
  const code = connectionCode(error);
  return code === undefined ? { name } : { name, code };
}

/** `ECONNREFUSED`, `ENOTFOUND`, …, of the error or of its cause. */
function connectionCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return undefined;
}

function ofCall({ statusCode: status, responseHeaders }: APICallError, said: string | null): AgentFailure {
  if (status === undefined)
    return new AgentFailure('model_unreachable', 'the model server cannot be reached', { passing: true });
  if (status >= 200 && status < 300) return broken(`status ${status}`, false);
  const words = said === null ? '' : `: ${said}`;
  const detail = { status, ...(said === null ? {} : { said }) };
  if (status !== 408 && status !== 429 && status < 500) {
    return new AgentFailure('model_refused', `the model server refused the request with ${status}${words}`, {
      detail,
    });
  }
  const wait = askedSeconds(new Headers(responseHeaders));
  return new AgentFailure('model_overloaded', `the model server answered ${status}${words}`, {
    passing: true,
    retryAfterSeconds: wait,
    detail: wait === undefined ? detail : { ...detail, retry_after_seconds: wait },
  });
}

/** `retry-after-ms` is more exact than `Retry-After`; OpenAI and compatible servers send both. */
function askedSeconds(headers: Headers): number | undefined {
  const ms = headers.get('retry-after-ms')?.trim() ?? '';
  return /^\d{1,12}(\.\d+)?$/.test(ms) ? Number(ms) / 1000 : retryAfterSeconds(headers);
}

function wordsOf({ responseBody, requestBodyValues }: APICallError, keys: readonly Secret[]): string | null {
  return providerWords(responseBody, { keys, request: requestBodyValues });
}

function broken(what: string, passing: boolean): AgentFailure {
  const words = `the model's answer was cut off or cannot be read (${what})`;
  return new AgentFailure('model_broken_stream', words, { passing });
}
