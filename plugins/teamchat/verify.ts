import { createHmac, hash, type KeyObject } from 'node:crypto';
import { type ChannelRequest, isRecent, isSameSecret } from '../../src/channel/index.ts';

/**
 * Whether the platform signed this request (scheme v0,
 * https://docs.slack.dev/authentication/verifying-requests-from-slack): the signature covers the exact bytes of the
 * body, and its time is at most five minutes in the past or the future. Call this before anything in the body is read.
 * @param secret signing secret of the app; pass a `KeyObject` so that it is imported only once
 * @param now ms since the epoch
 */
export function isSigned(
  { headers, body }: ChannelRequest,
  secret: string | KeyObject,
  now: number,
): boolean {
  const timestamp = headers['x-slack-request-timestamp'] ?? '';
  const signature = headers['x-slack-signature'] ?? '';
  return isRecent(timestamp, now) && isSameSecret(signature, signRequest(secret, timestamp, body));
}

/** @param timestamp seconds since the epoch, as in the header `X-Slack-Request-Timestamp` */
export function signRequest(
  secret: string | KeyObject,
  timestamp: string,
  body: string | Uint8Array,
): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`;
}

/**
 * Identifies a signed request: two ids are equal only if the same bytes were signed in the same second. The id is a
 * hash, so that no log contains a valid signature.
 */
export function identifyRequest({ headers }: ChannelRequest): string {
  const signature = headers['x-slack-signature'] ?? '';
  return hash('sha256', signature, 'hex').slice(0, 32);
}
