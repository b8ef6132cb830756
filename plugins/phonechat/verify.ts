import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

/**
 * Whether the platform signed these bytes. `X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the raw body with
 * the app secret, in hexadecimal (Meta, "Webhooks: validating payloads"). The comparison takes constant time.
 * @param app_secret pass a `KeyObject` so that the secret is imported only once
 */
export function isSigned(
  body: Uint8Array,
  header: string | undefined,
  app_secret: string | KeyObject,
): boolean {
  const given = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '')?.[1];
  if (given === undefined) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), createHmac('sha256', app_secret).update(body).digest());
}

/** The signature header for a body. Simulators use it. */
export function signatureOf(body: string, app_secret: string): string {
  return `sha256=${createHmac('sha256', app_secret).update(body).digest('hex')}`;
}

/** Compares two secrets of any length. The time reveals nothing about either secret. */
export function isSameSecret(given: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(right));
}
