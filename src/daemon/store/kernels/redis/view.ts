import type { Kind } from '../kernel.ts';
import { type Answer, documentName, type Read, type Row } from '../optimistic-tx.ts';
import { type Cache, RedisDocument } from './cache.ts';
import { documentKey, documentPrefix, endsKey, indexKey, listKey, originalKey, SERIAL_KEY } from './keys.ts';

/** The read as `read.lua` takes it. That of a shared text may run on another node. */
export function toArguments({ what, kind, of, n }: Read): (string | number)[] {
  const name = kind?.name ?? '';
  switch (what) {
    case 'document':
      return ['d', documentKey(name, of)];
    case 'first':
      return ['f', documentPrefix(name), indexKey(name, of), endsKey(name), n];
    case 'count':
      return ['c', indexKey(name, of), endsKey(name)];
    case 'items':
      return ['l', documentKey(name, of), listKey(name, of), n];
    case 'serial':
      return ['s', SERIAL_KEY];
  }
}

/** What one trip has read for an attempt. */
export interface Found {
  readonly now: number;
  readonly trip: number;
  /** For each read, in their order. */
  readonly found: readonly FoundRead[];
}

/** The answer of `read.lua`. `text`: of a shared document. */
export interface FoundRead {
  readonly answer: unknown;
  readonly text?: SharedText | null;
}

export type SharedText = readonly [text: string, expires_at: number];

/** The answer to a read, and when it was read. */
export interface Known<T> extends Answer<T> {
  readonly trip: number;
}

/**
 * What one attempt of a step knows: what its trips have read. With `isFresh`, all of it is of one moment; otherwise
 * documents are those of the cache.
 */
export class View {
  isFresh = false;
  #now = 0;
  readonly #cache: Cache;
  readonly #clock: () => number;
  readonly #documents = new Map<string, RedisDocument>();
  readonly #shared = new Map<string, RedisDocument>();
  readonly #answers = new Map<string, Known<unknown>>();

  constructor(cache: Cache, clock: () => number) {
    this.#cache = cache;
    this.#clock = clock;
  }

  get now(): number {
    return this.isFresh ? this.#now : this.#clock();
  }

  document(kind: Kind<never, unknown>, key: string): RedisDocument | undefined {
    const name = documentName(kind.name, key);
    if (kind.shared) return this.#shared.get(name);
    return (this.isFresh ? undefined : this.#cache.get(name)) ?? this.#documents.get(name);
  }

  /** The document as it is now; null if there is none. */
  readDoc(kind: Kind<never, unknown>, key: string): unknown {
    const found = this.document(kind, key)?.asOf(this.now);
    return (kind.shared ? found?.shared?.doc : found?.doc) ?? null;
  }

  answer<T>(read: Read): Known<T> | undefined {
    return this.#answers.get(read.id) as Known<T> | undefined;
  }

  note(reads: readonly Read[], { now, trip, found }: Found): void {
    this.#now = now;
    reads.forEach(({ what, kind, of, n, id }, place) => {
      const { answer, text } = found[place] as FoundRead;
      if (what === 'document' && kind !== null) {
        const stored = RedisDocument.of(answer as string | null, trip);
        if (text !== undefined) this.#noteShared(kind, of, stored, text);
        else this.#noteDocument(documentName(kind.name, of), stored);
        return;
      }
      const value =
        what === 'first' && kind !== null ? this.#noteRows(kind, answer as string[], trip) : answer;
      if (what === 'first' && kind?.isSparse)
        this.#cache.noteIndex(indexKey(kind.name, of), (value as Row<RedisDocument>[]).length === 0);
      this.#answers.set(id, { value, n, trip });
    });
  }

  /** Forgets what earlier trips have read. */
  clear(): void {
    this.#documents.clear();
    this.#shared.clear();
    this.#answers.clear();
  }

  /** Whether an index that is not known may count as empty until the step is stored. */
  mayBeEmpty(kind: Kind<never, unknown>, index: string): boolean {
    return kind.isSparse === true && !this.isFresh && !this.#cache.isFilled(indexKey(kind.name, index));
  }

  #noteRows({ name }: Kind<never, unknown>, found: readonly string[], trip: number): Row<RedisDocument>[] {
    const rows: Row<RedisDocument>[] = [];
    for (let place = 0; place < found.length; place += 2) {
      const key = originalKey(found[place] as string);
      const stored = RedisDocument.of(found[place + 1] as string, trip);
      this.#noteDocument(documentName(name, key), stored);
      rows.push([key, stored]);
    }
    return rows;
  }

  #noteDocument(name: string, stored: RedisDocument): void {
    this.#documents.set(name, stored);
    this.#cache.note(name, stored);
  }

  #noteShared(
    kind: Kind<never, unknown>,
    key: string,
    stored: RedisDocument,
    found: SharedText | null,
  ): void {
    const now = this.#now;
    const [text, ends] = found ?? [null, 0];
    const isThere = text !== null && (ends < 0 || ends > now);
    const beside = stored.isAlive(now) ? stored.doc : null;
    const ends_at = ends < 0 ? null : ends;
    const doc = isThere ? (kind.shared?.read(text, { key, ends_at, beside, now }) ?? null) : null;
    const whole = { text: isThere ? text : null, doc };
    const { version, expires_at, learned } = stored;
    const shared = new RedisDocument(version, expires_at, stored.text, learned, whole);
    this.#shared.set(documentName(kind.name, key), shared);
  }
}
