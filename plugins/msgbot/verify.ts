import { createHash, timingSafeEqual } from 'node:crypto';

/** Of `setWebhook`: the platform sends it back with each update. */
export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

/**
 * Does a webhook come from the platform? It signs nothing; it knows the secret. Hashes are compared, since
 * they are of one length: neither content nor length of the secret shows in the time that it takes.
 */
export function isSigned(header: string | undefined, secret: string): boolean {
  return header !== undefined && timingSafeEqual(digest(header), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
