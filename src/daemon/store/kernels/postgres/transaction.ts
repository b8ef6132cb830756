import { randomSuffix } from '../../../clock.ts';
import type { Entry, Kind, Ring, Tx } from '../kernel.ts';

/** What a step reads, as `agentd_read` takes it. */
export type Read =
  | readonly ['time']
  | readonly ['document', kind: string, key: string]
  | readonly ['first', kind: string, index: string, limit: number]
  | readonly ['count', kind: string, index: string]
  | readonly ['items', kind: string, key: string, after: number];

/** A change, as `agentd_commit` takes it. */
export type Write =
  | readonly ['put', kind: string, key: string, doc: string, expires_at: number | null, places: Places | null]
  | readonly ['delete', kind: string, key: string]
  | readonly ['append' | 'rewrite', kind: string, key: string, items: readonly string[]]
  | readonly ['log', ring: string, record: string, ids: readonly string[]];

type Places = readonly (readonly [index: string, score: number, tie: number])[];

/** A document as it was read. `version`: `0` if it was absent. */
interface Version {
  version: string;
  doc: unknown;
}

/** What was read so far. A step runs again until nothing is missing. */
export class Known {
  /** The time of the server, and the number of the step; null before the first read. */
  base: { now: number; serial: number } | null = null;
  readonly #documents = new Map<string, Version>();
  readonly #firsts = new Map<string, readonly string[]>();
  readonly #counts = new Map<string, number>();
  readonly #items = new Map<string, readonly unknown[]>();

  /** Takes over the answer of `agentd_read` to one read. */
  add(read: Read, answer: unknown): void {
    switch (read[0]) {
      case 'document':
        this.#note(read[1], read[2], answer as StoredVersion | null);
        return;
      case 'first': {
        const found = (answer ?? []) as ({ key: string } & StoredVersion)[];
        for (const { key, ...version } of found)
          if (!this.#documents.has(nameOf(read[1], key))) this.#note(read[1], key, version);
        this.#firsts.set(
          JSON.stringify(read),
          found.map(({ key }) => key),
        );
        return;
      }
      case 'count':
        this.#counts.set(JSON.stringify(read), Number(answer));
        return;
      case 'items':
        this.#items.set(
          JSON.stringify(read),
          ((answer ?? []) as string[]).map((item) => JSON.parse(item) as unknown),
        );
    }
  }

  document(kind: string, key: string): Version | undefined {
    return this.#documents.get(nameOf(kind, key));
  }

  first(read: Read): readonly string[] | undefined {
    return this.#firsts.get(JSON.stringify(read));
  }

  count(read: Read): number | undefined {
    return this.#counts.get(JSON.stringify(read));
  }

  items(read: Read): readonly unknown[] | undefined {
    return this.#items.get(JSON.stringify(read));
  }

  #note(kind: string, key: string, found: StoredVersion | null): void {
    const version =
      found === null ? ABSENT : { version: found.version, doc: JSON.parse(found.doc) as unknown };
    this.#documents.set(nameOf(kind, key), version);
  }
}

type StoredVersion = { version: string; doc: string };

const ABSENT: Version = { version: '0', doc: null };

/** The document as the step leaves it; `doc` is null if it is deleted. */
interface Changed {
  kind: Kind<never, unknown>;
  key: string;
  doc: unknown;
  /** Whether the list of the document was deleted with an earlier document of the same key. */
  isNew: boolean;
  rewritten: readonly unknown[] | null;
  appended: readonly unknown[];
}

/**
 * One run of a step. A read that is not known yet is answered as if nothing were stored, and is noted as missing: the
 * run is then only used to find out what else the step reads.
 */
export class PostgresTx implements Tx {
  readonly now: number;
  readonly missing: Read[] = [];
  readonly told: (readonly [channel: string, heard: readonly unknown[]])[] = [];
  readonly #known: Known;
  readonly #owners: string[];
  readonly #changed = new Map<string, Changed>();
  readonly #logged: Write[] = [];
  /** The documents whose versions decide whether the step may be stored. */
  readonly #checked = new Map<string, readonly [kind: string, key: string]>();
  #serials = 0;
  #claims = 0;

  /** @param owners of the claims that the step takes, the same in each run; made when they are needed */
  constructor(known: Known, owners: string[]) {
    this.#known = known;
    this.#owners = owners;
    this.now = known.base?.now ?? 0;
    // Each step needs the time of the server.
    if (known.base === null) this.missing.push(['time']);
  }

  get<T>(kind: Kind<T, unknown>, given: string): T | null {
    const key = storable(given);
    const changed = this.#changed.get(nameOf(kind.name, key));
    if (changed) return changed.doc as T | null;
    return this.#read(kind.name, key) as T | null;
  }

  put<T>(kind: Kind<T, unknown>, given: string, doc: T): void {
    const key = storable(given);
    this.#change(kind as Kind<never, unknown>, key, { doc: copy(doc) });
  }

  delete(kind: Kind<never, unknown>, given: string): void {
    this.#change(kind, storable(given), { doc: null, isNew: true, rewritten: null, appended: [] });
  }

  first<T>(kind: Kind<T, unknown>, given: string, limit: number): Entry<T>[] {
    const index = storable(given);
    const own = [...this.#changed.values()].filter((changed) => changed.kind.name === kind.name);
    // Documents of the range that the step has changed may leave it.
    const read: Read = [
      'first',
      kind.name,
      index,
      limit === Number.POSITIVE_INFINITY ? MAX : limit + own.length,
    ];
    const keys = this.#known.first(read);
    if (keys === undefined) this.missing.push(read);
    const stored = (keys ?? [])
      .filter((key) => !this.#changed.has(nameOf(kind.name, key)))
      .map((key) => ({ key, doc: this.#known.document(kind.name, key)?.doc as T | null }));
    const changed = own.map(({ key, doc }) => ({ key, doc: doc as T | null }));
    return [...stored, ...changed]
      .flatMap(({ key, doc }) => {
        const place = doc === null ? undefined : placesOf(kind, doc).find(([name]) => name === index);
        return doc === null || place === undefined ? [] : [{ key, doc, place }];
      })
      .sort((a, b) => a.place[1] - b.place[1] || a.place[2] - b.place[2] || (a.key < b.key ? -1 : 1))
      .slice(0, limit)
      .map(({ key, doc }) => ({ key: original(key), doc }));
  }

  count(kind: Kind<never, unknown>, given: string): number {
    const index = storable(given);
    const read: Read = ['count', kind.name, index];
    const stored = this.#known.count(read);
    if (stored === undefined) this.missing.push(read);
    const isIn = (doc: unknown) =>
      doc !== null && placesOf(kind, doc as never).some(([name]) => name === index);
    const delta = [...this.#changed.values()]
      .filter((changed) => changed.kind.name === kind.name)
      .map(
        ({ key, doc }) => Number(isIn(doc)) - Number(isIn(this.#known.document(kind.name, key)?.doc ?? null)),
      );
    return (stored ?? 0) + delta.reduce((sum, one) => sum + one, 0);
  }

  append<I>(kind: Kind<never, I>, given: string, items: readonly I[]): void {
    const key = storable(given);
    const { appended } = this.#listed(kind, key);
    this.#change(kind, key, { appended: [...appended, ...items.map(copy)] });
  }

  items<I>(kind: Kind<never, I>, given: string, after = 0): I[] {
    const key = storable(given);
    const changed = this.#changed.get(nameOf(kind.name, key));
    if (changed ? changed.doc === null : this.#read(kind.name, key) === null) return [];
    if (changed?.rewritten) return [...changed.rewritten, ...changed.appended].slice(after) as I[];
    if (changed?.isNew) return changed.appended.slice(after) as I[];
    const read: Read = ['items', kind.name, key, after];
    const stored = this.#known.items(read);
    if (stored === undefined) this.missing.push(read);
    return [...(stored ?? []), ...(changed?.appended ?? [])] as I[];
  }

  rewrite<I>(kind: Kind<never, I>, given: string, items: readonly I[]): void {
    const key = storable(given);
    this.#listed(kind, key);
    this.#change(kind, key, { rewritten: items.map(copy), appended: [] });
  }

  log<R>(ring: Ring<R>, record: R): void {
    this.#logged.push(['log', ring.name, JSON.stringify(record), ring.ids(record).map(storable)]);
  }

  serial(): number {
    this.#serials++;
    return (this.#known.base?.serial ?? 0) * SERIALS_MAX + this.#serials;
  }

  newOwner(): string {
    const place = this.#claims++;
    this.#owners[place] ??= randomSuffix();
    return this.#owners[place];
  }

  tell(channel: string, ...heard: readonly unknown[]): void {
    this.told.push([channel, heard]);
  }

  /** The documents that were read or changed, with the versions that they must still have. */
  checks(): (readonly [kind: string, key: string, version: string | null])[] {
    return [...this.#checked.values()].map(([kind, key]) => [
      kind,
      key,
      this.#known.document(kind, key)?.version ?? null,
    ]);
  }

  writes(): Write[] {
    const changes = [...this.#changed.values()].flatMap(
      ({ kind, key, doc, isNew, rewritten, appended }): Write[] => {
        const dropped: Write[] = isNew ? [['delete', kind.name, key]] : [];
        if (doc === null) return dropped;
        const places = kind.indexes === undefined ? null : placesOf(kind, doc as never);
        const put: Write = ['put', kind.name, key, JSON.stringify(doc), kind.expires(doc as never), places];
        const list = (items: readonly unknown[]) => items.map((item) => JSON.stringify(item));
        return [
          ...dropped,
          put,
          ...(rewritten ? [['rewrite', kind.name, key, list(rewritten)] as const] : []),
          ...(appended.length > 0 ? [['append', kind.name, key, list(appended)] as const] : []),
        ];
      },
    );
    return [...changes, ...this.#logged];
  }

  /** The stored document; notes that the step depends on it. */
  #read(kind: string, key: string): unknown {
    this.#checked.set(nameOf(kind, key), [kind, key]);
    const found = this.#known.document(kind, key);
    if (found === undefined) this.missing.push(['document', kind, key]);
    return found?.doc ?? null;
  }

  #listed(kind: Kind<never, unknown>, key: string): Changed {
    const changed = this.#changedOf(kind, key);
    if (changed.doc === null && this.missing.length === 0)
      throw new Error(`the document ${kind.name} of a list does not exist`);
    return changed;
  }

  #changedOf(kind: Kind<never, unknown>, key: string): Changed {
    const known = this.#changed.get(nameOf(kind.name, key));
    if (known) return known;
    return { kind, key, doc: this.#read(kind.name, key), isNew: false, rewritten: null, appended: [] };
  }

  #change(kind: Kind<never, unknown>, key: string, to: Partial<Changed>): void {
    this.#changed.set(nameOf(kind.name, key), { ...this.#changedOf(kind, key), ...to });
  }
}

/** Maximum number of documents of one index that a step reads. */
const MAX = 1_000_000;
/** Maximum number of serials of one step. */
const SERIALS_MAX = 10_000;

function placesOf<T>(
  kind: Kind<T, unknown>,
  doc: T,
): (readonly [index: string, score: number, tie: number])[] {
  return (kind.indexes?.(doc) ?? []).map(([index, score, tie = 0]) => [storable(index), score, tie]);
}

function nameOf(kind: string, key: string): string {
  return `${kind} ${key}`;
}

/** Postgres stores neither NUL nor unpaired surrogates. A key with one of them is stored as its JSON. */
function storable(key: string): string {
  return key.isWellFormed() && !key.includes('\0') && !key.startsWith(ESCAPED)
    ? key
    : ESCAPED + JSON.stringify(key);
}

/** The key of which `storable` made this text. */
export function original(stored: string): string {
  return stored.startsWith(ESCAPED) ? (JSON.parse(stored.slice(ESCAPED.length)) as string) : stored;
}

const ESCAPED = '\u0001';

function copy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
