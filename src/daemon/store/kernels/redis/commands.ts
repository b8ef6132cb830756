import type { IndexEntry, Kind } from '../kernel.ts';
import type { Changed } from '../optimistic-tx.ts';
import { listEntries } from '../read-kind.ts';
import type { RedisDocument } from './cache.ts';
import { documentKey, endsKey, indexKey, listKey, storedKey } from './keys.ts';

export type Command = readonly (string | number)[];

/** A place in an index, as it is stored. */
type Place = readonly [index: string, score: number, member: string];

/** How many items one command adds. */
const PUSHED_MAX = 1000;

/** The commands that store a changed document, its list and its places. */
export function buildCommands(changed: Changed<RedisDocument>): Command[] {
  const { kind, key, before, after, isNew, rewritten, appended } = changed;
  const at = documentKey(kind.name, key);
  const list = kind.hasList ? listKey(kind.name, key) : null;
  const moves = buildMoves(changed);
  if (after.text === null)
    return before.text === null && moves.length === 0
      ? []
      : [list === null ? ['DEL', at] : ['DEL', at, list], ...moves];
  const { expires_at } = after;
  const commands: Command[] = [
    expires_at === null ? ['SET', at, after.value] : ['SET', at, after.value, 'PXAT', expires_at],
  ];
  if (list !== null) {
    if (isNew || rewritten) commands.push(['DEL', list]);
    const items = [...(rewritten ?? []), ...appended];
    for (let place = 0; place < items.length; place += PUSHED_MAX)
      commands.push(['RPUSH', list, ...items.slice(place, place + PUSHED_MAX)]);
    if (expires_at !== null) commands.push(['PEXPIREAT', list, expires_at]);
    else if (before.expires_at !== null) commands.push(['PERSIST', list]);
  }
  // An expired document with this key may still be in an index.
  return isNew && kind.indexes
    ? [['SWEEP', endsKey(kind.name)], ...commands, ...moves]
    : [...commands, ...moves];
}

/** The command that stores the text of a shared document; null if there is nothing to store. */
export function buildSharedCommand(
  key: string,
  before: RedisDocument,
  { expires_at, shared }: RedisDocument,
): Command | null {
  const text = shared?.text ?? null;
  if (text === null) return (before.shared?.text ?? null) === null ? null : ['DEL', key];
  return ['SET', key, text, ...(expires_at === null ? [] : ['PXAT', expires_at])];
}

/** The commands that take a document out of indexes, and put it into others. */
function buildMoves({ kind, key, before, after, entries }: Changed<RedisDocument>): Command[] {
  if (!kind.indexes) return [];
  const old = toPlaces(kind, key, listEntries(kind, before.doc));
  const places = toPlaces(kind, key, entries);
  const isKept = before.expires_at === after.expires_at;
  const [was, is] = [new Set(old.map(String)), new Set(places.map(String))];
  const left = old.filter((place) => !is.has(String(place)));
  const entered = places.filter((place) => !(isKept && was.has(String(place))));
  if (left.length === 0 && entered.length === 0) return [];
  const [wasEnd, end] = [formatExpiry(key, before, old), formatExpiry(key, after, places)];
  return [
    ...left.map(([index, , member]) => ['ZREM', index, member]),
    ...entered.map(([index, score, member]) => ['PLACE', index, score, member, after.expires_at ?? '']),
    ...(wasEnd !== null && wasEnd !== end ? [['ZREM', endsKey(kind.name), wasEnd]] : []),
    ...(end !== null
      ? [['PLACE', endsKey(kind.name), after.expires_at as number, end, after.expires_at as number]]
      : []),
  ];
}

/** What is noted about a document that expires while it is in indexes: its key and its places. */
function formatExpiry(key: string, { expires_at }: RedisDocument, places: readonly Place[]): string | null {
  if (expires_at === null || places.length === 0) return null;
  return JSON.stringify([storedKey(key), places.map(([index, , member]) => [index, member])]);
}

function toPlaces({ name }: Kind<never, unknown>, key: string, entries: readonly IndexEntry[]): Place[] {
  return entries.map(([index, score, tie = 0]) => [
    indexKey(name, index),
    score,
    ordered(tie) + storedKey(key),
  ]);
}

/** 16 characters in the order of the numbers. */
function ordered(tie: number): string {
  BITS.setFloat64(0, tie);
  const bits = BITS.getBigUint64(0);
  const flipped = bits >> 63n === 1n ? ~bits & MASK : bits | SIGN;
  return flipped.toString(16).padStart(16, '0');
}

const BITS = new DataView(new ArrayBuffer(8));
const MASK = 0xffff_ffff_ffff_ffffn;
const SIGN = 0x8000_0000_0000_0000n;

/** What `commit.lua` checks of shared texts: their number, and the key, the existence and the text of each. */
export function sharedArguments(
  shared: readonly { key: string; before: string | null }[],
): (string | number)[] {
  return [
    shared.length,
    ...shared.flatMap(({ key, before }) => [key, before === null ? 0 : 1, before ?? '']),
  ];
}

/** Commands with their number of arguments each, and the number of all that follows. */
export function sized(commands: readonly Command[]): (string | number)[] {
  const given = commands.flatMap((command) => [command.length, ...command]);
  return [given.length, ...given];
}
