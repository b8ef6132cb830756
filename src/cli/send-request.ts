import { once } from 'node:events';
import type { request as httpRequest, IncomingMessage } from 'node:http';

export interface SendOptions {
  method?: string;
  headers?: Readonly<Record<string, string | number>>;
  body?: string;
  /** The request fails if nothing arrives for this long, ms. */
  silence_ms: number;
  signal?: AbortSignal;
}

/**
 * Sends an HTTP request on its own connection; resolves when the head of the response has arrived. Follows no redirect.
 * Does not use `fetch`, which refuses ports that a daemon may use (6000, 10080).
 */
export async function sendRequest(
  url: URL,
  { silence_ms, body, ...options }: SendOptions,
): Promise<IncomingMessage> {
  const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const sent = (request as typeof httpRequest)(url, { ...options, agent: false, timeout: silence_ms });
  sent.on('timeout', () => sent.destroy(new Error(`no answer within ${silence_ms / 1000} seconds`)));
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // A later failure is reported to the reader of the body.
  sent.on('error', () => undefined);
  return response;
}

/** Why a request failed, in words. */
export function failureOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no answer';
}
