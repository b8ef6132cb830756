import { createHmac } from 'node:crypto';
import { type ChannelRequest, isRecent, isSameSecret } from 'agentd/channel';

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
  const signature = headers['x-pigeonpost-signature'] ?? '';
  return isRecent(timestamp, now) && isSameSecret(signature, signRequest(secret, timestamp, body));
}

/** @param timestamp seconds since the epoch, as in the header */
export function signRequest(secret: string, timestamp: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
}
