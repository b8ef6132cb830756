import { type CryptoKey, compactVerify, errors, type KeyObject } from 'jose';

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
 * Is it signed with this key? jose checks; it finds the header's `alg` again, so a token that was let
 * through with another one still fails.
 */
export async function isSignedWith(
  key: KeyObject | CryptoKey,
  algorithm: 'HS256' | 'RS256',
  { signed, signature }: Signed,
): Promise<boolean> {
  // A signature has one writing only; otherwise the unused bits of its last character could be altered at will.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return false;
  try {
    await compactVerify(`${signed}.${signature}`, key, { algorithms: [algorithm] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}
