import { createHmac, type KeyObject, timingSafeEqual, type webcrypto } from 'node:crypto';
import { compactVerify, errors } from 'jose';

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
   * Throws where it cannot tell: the key set is out of reach.
   */
  verify(token: Signed): boolean | Promise<boolean>;
}

/** Fewest bits of an RSA key (RFC 7518 §3.3). */
export const RSA_MIN_BITS = 2048;

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

/**
 * RS256: is it signed with this key's other half? jose checks; it finds the header's `alg` again, so a token
 * that was let through with another one still fails.
 */
export async function isSignedWithKey(
  key: KeyObject | webcrypto.CryptoKey,
  { signed, signature }: Signed,
): Promise<boolean> {
  // A signature has one writing only; otherwise the unused bits of its last character could be altered at will.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return false;
  try {
    await compactVerify(`${signed}.${signature}`, key, { algorithms: ['RS256'] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}
