import type { IndexEntry, Kind } from './kernel.ts';

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

/**
 * The indexes in which a document is.
 * @throws if one of its places has no order, which would hide the places of other documents.
 */
export function listEntries(kind: Kind<never, unknown>, doc: unknown): readonly IndexEntry[] {
  const entries = (kind.indexes && doc !== null && kind.indexes(doc as never)) || [];
  for (const [, score] of entries)
    if (!Number.isFinite(score)) throw new Error(`a place of ${kind.name} is ${score}`);
  return entries;
}
