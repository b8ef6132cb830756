import { FEEDBACK } from './feedback.ts';
import { MESSAGE } from './inbox/inbox-document.ts';
import type { Kernel } from './kernels/kernel.ts';
import { RECORDING } from './recordings.ts';
import { SESSION, sessionIds } from './sessions/session-document.ts';
import { messageIds, type TraceRings } from './traces.ts';

/**
 * The ids by which administrators name what is stored, so that they can write only the beginning of one. Both methods
 * read every record of the kinds.
 */
export interface IdStore {
  /**
   * The ids that begin with this text: an id that equals it first, then those of at most `limit` different records, in
   * no particular order.
   */
  beginningWith(kinds: readonly IdKind[], text: string, limit: number): Promise<StoredId[]>;
  /**
   * For each of these ids, its shortest beginning that no other id of the kind has, but at least `SHORT_MIN` characters,
   * and more if its first part ends in `_` or `:`.
   */
  shorten(kind: Exclude<IdKind, 'trace'>, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** `message`: the inbox. `trace`: everything that `TraceStore.find` finds. */
export type IdKind = 'session' | 'message' | 'trace' | 'feedback' | 'recording';

interface StoredId {
  id: string;
  /** Ids with the same value name the same record. */
  of: string;
}

/** Minimum length of a shortened id, characters. */
export const SHORT_MIN = 8;
/** Minimum number of its characters after a first part that ends in `_` or `:`, which is often the name of a channel. */
const AFTER_PREFIX_MIN = 10;

export function idStore(kernel: Kernel, rings: TraceRings): IdStore {
  return {
    async beginningWith(kinds, text, limit) {
      const found: StoredId[] = [];
      const records = new Set<string>();
      for (const kind of kinds) {
        for await (const stored of scanIds(kernel, rings, kind, text)) {
          if (stored.id === text) found.unshift(stored);
          else if (stored.id.startsWith(text) && (records.has(stored.of) || records.size < limit)) {
            records.add(stored.of);
            found.push(stored);
          }
        }
      }
      return found;
    },
    async shorten(kind, ids) {
      const all = new Set<string>();
      for await (const { id } of scanIds(kernel, rings, kind, '')) all.add(id);
      return shortened(ids, all);
    },
  };
}

async function* scanIds(
  kernel: Kernel,
  rings: TraceRings,
  kind: IdKind,
  text: string,
): AsyncGenerator<StoredId> {
  switch (kind) {
    case 'session':
      for await (const { key, doc } of kernel.scan(SESSION))
        for (const id of sessionIds(doc.session)) yield { id, of: key };
      return;
    case 'message':
      for await (const { doc } of kernel.scan(MESSAGE)) {
        const { id: of, request_id, message_id, platform } = doc.message;
        yield* named(of, [of, request_id, ...messageIds(platform, message_id)]);
      }
      return;
    case 'feedback':
      for await (const { key: of, doc } of kernel.scan(FEEDBACK))
        yield* named(of, [of, doc.feedback.request_id]);
      return;
    case 'recording':
      for await (const { key: of, doc } of kernel.scan(RECORDING))
        yield* named(of, [of, doc.request_id, ...messageIds(doc.platform, doc.message_id)]);
      return;
    case 'trace':
      for (const ring of [rings.answered, rings.refused]) {
        const found = await kernel.findRecords(ring, {
          isFound: (kept) => ring.ids(kept).some((id) => id.startsWith(text)),
          limit: TRACES_MAX,
        });
        for (const { trace } of found) {
          const { turn_id: of, request_id, session_id, message_id, platform } = trace;
          yield* named(of, [of, request_id, ...messageIds(platform, message_id)]);
          if (session_id !== null) yield { id: session_id, of: session_id };
        }
      }
  }
}

/** How many traces a search for the beginning of an id reads at most, the newest first. */
const TRACES_MAX = 1000;

function* named(of: string, ids: readonly string[]): Generator<StoredId> {
  for (const id of ids) yield { id, of };
}

/** The shortest beginning of each id that is unique among all of them (`IdStore.shorten`). */
export function shortened(ids: readonly string[], all: Iterable<string>): Map<string, string> {
  const sorted = [...all].sort();
  return new Map(ids.map((id) => [id, shortest(id, sorted)]));
}

/** @param sorted all ids in the order of their code units */
function shortest(id: string, sorted: readonly string[]): string {
  const at = findPlace(id, sorted);
  const neighbors = [sorted[at - 1], sorted[at] === id ? sorted[at + 1] : sorted[at]];
  const common = Math.max(...neighbors.map((other) => (other === undefined ? 0 : commonLength(id, other))));
  const prefix = id.search(/[_:]/) + 1;
  const least = prefix === 0 ? SHORT_MIN : prefix + AFTER_PREFIX_MIN;
  return id.slice(0, Math.max(least, common + 1));
}

/** The first place at which the sorted list has this id or a later one. */
function findPlace(id: string, sorted: readonly string[]): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < id) from = middle + 1;
    else to = middle;
  }
  return from;
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
