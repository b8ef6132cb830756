import type { KeyObject, webcrypto } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import type { Signed } from './signature.ts';

/** Minimum size of an RSA key, bits (RFC 7518 §3.3). */
export const RSA_MIN_BITS = 2048;

/**
 * Whether a token is signed (RS256) with the private key that belongs to `key`. jose checks the header's `alg`
 * again, so a token with another algorithm fails here even if an earlier check let it through.
 */
export async function isSignedWithKey(
  key: KeyObject | webcrypto.CryptoKey,
  { signed, signature }: Signed,
): Promise<boolean> {
  // Only the canonical base64url is accepted: otherwise, the unused bits of the last character could vary.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return false;
  try {
    await compactVerify(`${signed}.${signature}`, key, { algorithms: ['RS256'] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}
