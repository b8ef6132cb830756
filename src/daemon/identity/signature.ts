import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

/** The input of a signature check. */
export interface Signed {
  /** Header and payload as written, which are the signed text. */
  signed: string;
  /** The signature as written, in base64url. */
  signature: string;
  /** Which key of a set was used, according to the header. Not trusted. */
  kid: unknown;
}

/**
 * Whether a key fits a token. If there are several keys, the position of the first one that does, from 1, so that an
 * operator sees when an old key is no longer needed.
 */
export type KeyFit = boolean | number;

/** The keys that check signatures. Imported once at the start, since importing costs more than checking. */
export interface VerificationKeys {
  /**
   * Whether the token was signed with one of these keys. Each key is tried at most once. Called only for tokens with the configured `alg`. Throws if
   * this is not known because the key set cannot be reached.
   */
  verify(token: Signed): KeyFit | Promise<KeyFit>;
}

/**
 * Whether a token is signed with this secret (HS256). jose is not used, because its WebCrypto runs each check on
 * another thread. That costs three times as much, and messages that arrive together would be written separately, with a
 * sync of the disk for each.
 *
 * The signatures are compared in constant time, and as texts, because a signature has only one valid spelling (see
 * rsa-signature.ts).
 */
export function isSignedWithSecret(secret: KeyObject, { signed, signature }: Signed): boolean {
  const right = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const given = Buffer.from(signature);
  return given.length === right.length && timingSafeEqual(given, right);
}
