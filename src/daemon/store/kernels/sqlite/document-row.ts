import { hash } from 'node:crypto';
import { NO_ITEMS, type Version } from './version.ts';

/** A row of the table `docs`. */
export interface DocumentRow {
  id: number;
  key: string;
  doc: string;
  expires_at: number | null;
  live: number | null;
  name: string | null;
  client: string | null;
  look_at: number | null;
  last_item: number | null;
  items: number;
  item_bytes: number;
}

/** What the row of a document in `docs` has in its indexes. */
export type StoredRow = Pick<Version, 'isLive' | 'name' | 'client'> & { id: number; look_at: number | null };

export const COLUMNS = 'id, key, doc, expires_at, live, name, client, look_at, last_item, items, item_bytes';

export function toVersion(row: DocumentRow): Version {
  const { doc: text, expires_at, live, name, client, last_item: last, items: count, item_bytes: bytes } = row;
  const list = last === null ? NO_ITEMS : { last, count, bytes, added: [], tail: null };
  return { doc: undefined, text, expires_at, isLive: live === 1, name, client, list, places: null };
}

export function toStoredRow({ id, live, name, client, look_at }: DocumentRow): StoredRow {
  return { id, isLive: live === 1, name, client, look_at };
}

/** How many hashes the keys of a kind have. */
export const KEYS = 2 ** 44;
const FIRST_HASHES = new Map<string, number>();

/**
 * The hash by which the table finds the documents of a kind with this key or name: 8 bits of the kind, so that its
 * documents are next to each other in the index, and 44 bits of the key.
 */
export function hashOf(kind: string, name: string): number {
  return firstHash(kind) + Number.parseInt(hash('sha256', `${kind}\n${name}`, 'hex').slice(0, 11), 16);
}

/** The lowest hash of a kind. */
export function firstHash(kind: string): number {
  let first = FIRST_HASHES.get(kind);
  if (first === undefined) {
    first = Number.parseInt(hash('sha256', kind, 'hex').slice(0, 2), 16) * KEYS;
    FIRST_HASHES.set(kind, first);
  }
  return first;
}
