import type { IndexEntry } from '../kernel.ts';
import { type Ordered, OrderedIndex } from '../ordered-index.ts';
import type { Entry } from './documents.ts';
import { parseDoc, type Version } from './version.ts';

/** The ordered indexes of a kind by their names. An index without documents is absent. */
export type Indexes = Map<string, OrderedIndex>;

/** The places of a version in the ordered indexes of its kind. */
export function listPlaces(
  { shelf, key }: Pick<Entry, 'shelf' | 'key'>,
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
