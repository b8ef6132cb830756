import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

/** What a signature check looks at. */
export interface Signed {
  /** Header and payload as written: what the signature is over. */
  signed: string;
  /** As written, base64url. */
  signature: string;
  /** Which key of a set, as the header says; nothing of it is trusted. */
  kid: unknown;
}

/** What signatures are checked with. Imported once at start: importing costs more than checking. */
export interface VerificationKeys {
  /**
   * Was it signed with one of these keys? Asked only for tokens whose `alg` is the configured one.
   * Throws if it cannot tell because the key set is out of reach.
   */
  verify(token: Signed): boolean | Promise<boolean>;
}

/**
 * HS256: is it signed with this secret? Not by way of jose, whose WebCrypto sends each check to another
 * thread: that costs three times the check, and messages that arrive together would no longer be together
 * when they are written, a sync of the disk each.
 *
 * Compared as texts, because a signature has one writing only (see below), and in constant time.
 */
export function isSignedWithSecret(secret: KeyObject, { signed, signature }: Signed): boolean {
  const right = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const given = Buffer.from(signature);
  return given.length === right.length && timingSafeEqual(given, right);
}
