import { createHash, timingSafeEqual } from 'node:crypto';

/** Header in which the platform sends the secret of `setWebhook` with each update. */
export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

/**
 * Whether a webhook comes from the platform. The platform does not sign updates: it sends the secret. Hashes of equal
 * length are compared in constant time, so that the duration reveals neither the content nor the length of the secret.
 */
export function isSigned(header: string | undefined, secret: string): boolean {
  return header !== undefined && timingSafeEqual(digest(header), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
