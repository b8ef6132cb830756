import type { IndexEntry, Kind } from './kernel.ts';

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
