import { copyOf, frozen } from '../copy-of.ts';
import type { IndexEntry } from '../kernel.ts';
import { type Ordered, OrderedIndex } from '../ordered-index.ts';
import type { HeldEntry } from './documents.ts';

/** The list of a document. Its items are in rows of the table `items`, which are found backwards from the last one. */
export interface List {
  readonly last: number | null;
  /** How many items are in these rows. */
  readonly count: number;
  /** The bytes of all items, and of what is stored elsewhere because of them. */
  readonly bytes: number;
  /** The items, as JSON, that no commit has stored yet. */
  readonly added: readonly string[];
  /** The last items; null if they are not in memory. */
  tail: Tail | null;
}

/** The items of a list from one on. */
interface Tail {
  /** How many items are before them. */
  readonly start: number;
  /** Begins with these items, and may go on with later ones: later versions share it. */
  readonly items: readonly unknown[];
  /** Their bytes. */
  readonly bytes: number;
}

/** A document at one moment. */
export interface Version {
  /** Undefined until it is needed: then it is parsed from the text. */
  doc: unknown;
  text: string;
  readonly expires_at: number | null;
  readonly isLive: boolean;
  /** Its place in a wide index. */
  readonly name: string | null;
  readonly client: string | null;
  readonly list: List;
  /** Its places in indexes; null if they were not needed yet. */
  places: readonly Ordered[] | null;
}

export const NO_ITEMS: List = {
  last: null,
  count: 0,
  bytes: 0,
  added: [],
  tail: { start: 0, items: [], bytes: 0 },
};
/** No more bytes than this of a list are kept in memory. */
export const TAIL_BYTES_MAX = 512 * 1024;

/** The document of a version. Nobody changes it. */
export function parseDoc(version: Version): unknown {
  version.doc ??= JSON.parse(version.text);
  return version.doc;
}

/** The document of a version, for whoever may change it. */
export function ownDoc({ doc, text }: Version): unknown {
  return text === '' ? copyOf(doc) : JSON.parse(text);
}

export function isAlive(version: Version | null, now: number): version is Version {
  return version !== null && !hasEnded(version, now);
}

export function hasEnded({ expires_at }: Version, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

/**
 * The list with more items. Adding to a list costs the same however long it is.
 * @param beside the bytes of what is stored elsewhere because of them
 */
export function appended(list: List, items: readonly unknown[], beside = 0): List {
  const texts = items.map((item) => JSON.stringify(item));
  const added = texts.reduce((sum, text) => sum + text.length + 1, 0);
  const tail = list.tail && appendedTail(list.tail, list.count + list.added.length, items, added);
  return { ...list, bytes: list.bytes + added + beside, added: [...list.added, ...texts], tail };
}

function appendedTail(tail: Tail, count: number, items: readonly unknown[], added: number): Tail | null {
  const bytes = tail.bytes + added;
  if (bytes > TAIL_BYTES_MAX) return null;
  const own = count - tail.start;
  // A version that was undone may have added to the items, and all lists begin with `NO_ITEMS`.
  if (tail.items.length !== own || own === 0)
    return { ...tail, bytes, items: [...tail.items.slice(0, own), ...items.map(kept)] };
  (tail.items as unknown[]).push(...items.map(kept));
  return { ...tail, bytes };
}

/** A copy of an item, which later readers share. */
function kept(item: unknown): unknown {
  return frozen(copyOf(item));
}

/** The characters that a version takes in memory. */
export function measureSize(version: Version | null): number {
  if (version === null) return 0;
  return version.text.length + (version.list.tail?.bytes ?? 0);
}

/** The ordered indexes of a kind by their names. An index without documents is absent. */
export type Indexes = Map<string, OrderedIndex>;

/** The places of a version in the ordered indexes of its kind. */
export function listPlaces(
  { shelf, key }: Pick<HeldEntry, 'shelf' | 'key'>,
  version: Version | null,
): readonly Ordered[] {
  if (version === null || !(version.isLive || version.name !== null)) return [];
  version.places ??= orderedPlaces(shelf.kind?.indexes?.(parseDoc(version)) ?? [], key, version.expires_at);
  return version.places;
}

/** The places of a document with this key. */
export function orderedPlaces(
  places: readonly IndexEntry[],
  key: string,
  ends_at: number | null,
): readonly Ordered[] {
  return places.map(([index, score, tie = 0]) => ({ index, score, tie, key, ends_at }));
}

export function addPlace(indexes: Indexes, place: Ordered): void {
  const index = indexes.get(place.index) ?? new OrderedIndex();
  index.add(place);
  indexes.set(place.index, index);
}

export function removePlace(indexes: Indexes, place: Ordered): void {
  const index = indexes.get(place.index);
  index?.delete(place);
  if (index?.all().length === 0) indexes.delete(place.index);
}

export function movePlaces(indexes: Indexes, before: readonly Ordered[], after: readonly Ordered[]): void {
  if (areSame(before, after)) return;
  for (const place of before) removePlace(indexes, place);
  for (const place of after) addPlace(indexes, place);
}

function areSame(one: readonly Ordered[], other: readonly Ordered[]): boolean {
  return (
    one.length === other.length &&
    one.every((place, at) => {
      const { index, score, tie, ends_at } = other[at] as Ordered;
      return place.index === index && place.score === score && place.tie === tie && place.ends_at === ends_at;
    })
  );
}
