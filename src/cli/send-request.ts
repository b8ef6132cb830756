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

/**
 * All bytes of a stream.
 * @throws RangeError if there are more than `max_bytes`
 */
export async function readBounded(
  stream: AsyncIterable<Uint8Array | string>,
  max_bytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk as Uint8Array);
    bytes += piece.length;
    if (bytes > max_bytes) throw new RangeError(`more than ${max_bytes} bytes arrived`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}
