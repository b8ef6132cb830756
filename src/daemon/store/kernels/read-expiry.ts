import type { Kind } from './kernel.ts';

/**
 * When a document ends: a whole number of ms, or null. A database refuses any other number, some only when it moves what
 * it has taken to its place, and then it can store nothing else either.
 */
export function readExpiry<T>(kind: Kind<T, unknown>, doc: T): number | null {
  const expires_at = kind.expires(doc);
  if (expires_at !== null && !Number.isSafeInteger(expires_at))
    throw new Error(`the document ${kind.name} expires at ${expires_at}`);
  return expires_at;
}
