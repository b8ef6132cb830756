import { asFields } from './payload.ts';
import type { DeliveryFailure } from './scope.ts';

/**
 * What an unsuccessful answer of a platform means for a reply, if the documentation of the platform says no more about
 * it. 408 and 429 allow a retry, any other 4xx is final, and 401 is a refusal of the credentials. All other statuses
 * come from a platform that fails, or from a proxy.
 */
export function failureOfStatus(status: number, headers: Headers = new Headers()): DeliveryFailure {
  const seconds = retryAfterSeconds(headers);
  const wait = seconds === undefined ? {} : { retry_after_seconds: seconds };
  if (status === 401) return { final: false, platform: 'credentials', ...wait };
  if (status === 408 || status === 429) return { final: false, ...wait };
  if (status >= 400 && status < 500) return { final: true };
  return { final: false, platform: 'unreachable', ...wait };
}

/**
 * Does work with a signal that aborts after `ms`, or when `other` does. Nothing is left when the work has settled: a
 * signal of `AbortSignal.timeout` would stay in memory until its time has passed, and then make an error.
 */
export async function withTimeout<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  other?: AbortSignal,
): Promise<T> {
  let underWay: AbortController | null = new AbortController();
  const { signal } = underWay;
  const pass = () =>
    underWay?.abort(new DOMException(`it took longer than ${ms / 1000} seconds`, 'TimeoutError'));
  const timer = setTimeout(pass, ms);
  const abort = () => underWay?.abort(other?.reason);
  if (other?.aborted) abort();
  other?.addEventListener('abort', abort, { once: true });
  try {
    return await work(signal);
  } finally {
    clearTimeout(timer);
    other?.removeEventListener('abort', abort);
    // Node.js links the listeners of a signal, so a removed listener may stay in memory for a while.
    underWay = null;
  }
}

/**
 * What the error of a call says about a platform that has not answered: `no answer in time`, or `no answer
 * (ECONNREFUSED)`. Its message is not used, because it may quote an address or a header that contains a token.
 */
export function whyUnanswered(error: unknown): string {
  const { name, cause } = error instanceof Error ? error : new Error();
  if (name === 'TimeoutError' || name === 'AbortError') return 'no answer in time';
  const { code } = asFields(cause);
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? `no answer (${code})` : 'no answer';
}

/** The text of an answer. Null if it has more than `max` characters: then it is not from the platform. */
export async function readAnswer({ body }: Response, max: number): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > max) return null;
  }
  return text + decoder.decode();
}

/**
 * How long a platform asks to wait, for `ChannelScope.deliveryFailed`: `Retry-After` in seconds or as a date (RFC
 * 9110 §10.2.3).
 * @param headers headers of the response, for example of a 429 or a 503
 * @returns whole seconds, 0 or more; undefined if there is no readable value
 */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const words = headers.get('Retry-After')?.trim();
  if (words === undefined) return undefined;
  if (/^\d{1,9}$/.test(words)) return Number(words);
  const at = Date.parse(words);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
