import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelRequest } from '../../src/channel/index.ts';

/** Clocks may differ by so much, either way, seconds. */
const CLOCK_SECONDS = 300;

/**
 * Whether the platform has signed this request (scheme v0, https://docs.slack.dev/authentication/verifying-requests-from-slack):
 * over the exact bytes of the body, at most five minutes ago or ahead. Nothing of the body is looked at before.
 * @param now ms since the epoch
 */
export function isSigned({ headers, body }: ChannelRequest, secret: string, now: number): boolean {
  const timestamp = headers['x-slack-request-timestamp'] ?? '';
  const signature = headers['x-slack-signature'] ?? '';
  if (!/^\d{1,12}$/.test(timestamp) || !/^v0=[0-9a-f]{64}$/.test(signature)) return false;
  if (Math.abs(Math.floor(now / 1000) - Number(timestamp)) > CLOCK_SECONDS) return false;
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secret, timestamp, body)));
}

/** @param timestamp seconds since the epoch, as in the header `X-Slack-Request-Timestamp` */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`;
}

/**
 * Names a signed request: the same only for the same bytes signed at the same second. It is a hash, so that no log
 * holds a signature that is still good.
 */
export function nameOf({ headers }: ChannelRequest): string {
  const signature = headers['x-slack-signature'] ?? '';
  return createHash('sha256').update(signature).digest('hex').slice(0, 32);
}
