import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelRequest } from 'agentd/channel';

/** Maximum age of a signature, in ms. Older signatures are refused, so that a recorded request cannot be sent again. */
const AGE_MAX_MS = 5 * 60_000;

/**
 * Whether the platform sent this request. The platform signs the time and the exact bytes of the body.
 * @param now ms since the epoch
 */
export function isSigned(
  { headers, body }: Pick<ChannelRequest, 'headers' | 'body'>,
  secret: string,
  now: number,
): boolean {
  const timestamp = headers['x-pigeonpost-timestamp'] ?? '';
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1000) > AGE_MAX_MS) return false;
  const given = Buffer.from(headers['x-pigeonpost-signature'] ?? '');
  const right = Buffer.from(signatureOf(secret, timestamp, body));
  return given.length === right.length && timingSafeEqual(given, right);
}

/** @param timestamp seconds since the epoch, as in the header */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
}
