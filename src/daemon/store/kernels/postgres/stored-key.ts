import { hash } from 'node:crypto';

/**
 * The form in which a key is stored. Postgres stores neither NUL nor unpaired surrogates, and an index takes no more
 * than 2,704 bytes: such a key is stored as its hash.
 */
export function storedKey(key: string): string {
  if (isPlain(key)) return key;
  return HASHED + hash('sha256', JSON.stringify(key), 'hex');
}

/** What is stored beside the key so that it can be read again; null if it is stored as it is. */
export function storedName(key: string): string | null {
  return isPlain(key) ? null : JSON.stringify(key);
}

/** The key of which `storedKey` and `storedName` made these texts. */
export function originalKey(stored: string, name: string | null): string {
  return name === null ? stored : (JSON.parse(name) as string);
}

/** The first character of a key that is a hash. No other key begins with it. */
const HASHED = '\u0001';
/** Maximum length of a key that is stored as it is, in UTF-16 units: each is at most three bytes. */
const PLAIN_MAX = 256;

function isPlain(key: string): boolean {
  return key.length <= PLAIN_MAX && key.isWellFormed() && !key.includes('\0') && !key.startsWith(HASHED);
}
