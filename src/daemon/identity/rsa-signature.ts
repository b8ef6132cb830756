import type { KeyObject, webcrypto } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import type { Signed } from './signature.ts';

/** Fewest bits of an RSA key (RFC 7518 §3.3). */
export const RSA_MIN_BITS = 2048;

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
