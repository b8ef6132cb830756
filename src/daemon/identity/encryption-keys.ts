import type { Secret } from '../settings/secret.ts';

/** 32 bytes: 43 characters of base64 and their padding. */
const KEY_OF_32_BYTES = /^[A-Za-z0-9+/_-]{43}=?$/;

/** TOKEN_ENCRYPTION_KEY=off: tokens are stored as they are. */
export function isSealingOff(keys: Secret | undefined): boolean {
  return keys?.reveal().trim().toLowerCase() === 'off';
}

/** The keys of a list in base64. The first key seals, and each of them can unseal. */
export function keysIn(keys: Secret): Buffer[] {
  return keyList(keys).map((key) => Buffer.from(key, 'base64'));
}

/** The keys of a list as they are written. */
export function keyList(keys: Secret): string[] {
  return keys
    .reveal()
    .split(',')
    .map((key) => key.trim());
}

/** What is wrong with a list of keys, as the end of a sentence; null for a list that can be used. */
export function problemOfKeys(keys: Secret): string | null {
  const list = keyList(keys);
  const wrong = list.findIndex((key) => !KEY_OF_32_BYTES.test(key));
  if (wrong === -1) return null;
  return list.length === 1
    ? 'is not 32 bytes in base64'
    : `has a key (number ${wrong + 1}) that is not 32 bytes in base64`;
}
