import { randomSuffix } from '../../../time/clock.ts';
import type { Entry, Kind, Ring, Tx } from '../kernel.ts';
import { documentName, type Known, type Read, type Version } from './known.ts';
import { originalKey, storedKey, storedName } from './stored-key.ts';

/** A change, as `agentd_store` takes it. */
type Write =
  | readonly [
      ...['put', kind: string, key: string, doc: string, expires_at: number | null, places: Places | null],
      ...[version: number, name: string | null],
    ]
  | readonly ['delete', kind: string, key: string]
  | readonly ['append' | 'rewrite', kind: string, key: string, items: readonly string[]]
  | readonly ['log', ring: string, record: string, ids: readonly string[]];

/** A document that must have this version when the step is stored. */
type Check = readonly [kind: string, key: string, version: number];

type Places = readonly (readonly [index: string, score: number, tie: number])[];

/** The document as the step leaves it; `doc` is null if it is deleted. */
interface Changed {
  kind: Kind<never, unknown>;
  /** The stored key, and its name. */
  key: string;
  name: string | null;
  doc: unknown;
  /** The document before the step. */
  before: Version;
  /** Whether the list of the document was deleted with an earlier document of the same key. */
  isNew: boolean;
  rewritten: readonly unknown[] | null;
  appended: readonly unknown[];
}

/** A document that earlier steps of the same trip have changed. */
interface PendingDocument extends Changed {
  version: number;
}

/**
 * The changes of the steps that are stored before this one in the same trip. Steps of one process that change the same
 * document see each other's changes here; otherwise all but one of them would have to run again.
 */
export class Pending {
  readonly #documents = new Map<string, PendingDocument>();
  /** The last number that the steps have used. */
  last = 0;

  get(kind: string, key: string): PendingDocument | undefined {
    return this.#documents.get(documentName(kind, key));
  }

  has(name: string): boolean {
    return this.#documents.has(name);
  }

  ofKind(kind: string): PendingDocument[] {
    return [...this.#documents.values()].filter((pending) => pending.kind.name === kind);
  }

  add(changes: Iterable<Changed>, version: number): void {
    this.last = Math.max(this.last, version);
    for (const change of changes) {
      const name = documentName(change.kind.name, change.key);
      const earlier = this.#documents.get(name);
      const isContinued = earlier !== undefined && !change.isNew;
      const merged = isContinued
        ? {
            isNew: earlier.isNew,
            rewritten: change.rewritten ?? earlier.rewritten,
            appended: change.rewritten ? change.appended : [...earlier.appended, ...change.appended],
          }
        : {};
      const before = earlier?.before ?? change.before;
      this.#documents.set(name, { ...change, ...merged, before, version: change.doc === null ? 0 : version });
    }
  }
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
  readonly #pending: Pending;
  readonly #changed = new Map<string, Changed>();
  readonly #logged: Write[] = [];
  /** The documents whose versions decide whether the step may be stored. */
  readonly #checked = new Map<string, readonly [kind: string, key: string]>();
  /** The last number that the step has used. */
  #serial: number;
  readonly #serialsEnd: number;
  #claims = 0;
  #size = 0;

  /** @param owners of the claims that the step takes, the same in each run; made when they are needed */
  constructor(known: Known, owners: string[], pending: Pending) {
    this.#known = known;
    this.#owners = owners;
    this.#pending = pending;
    this.now = known.now;
    this.#serial = Math.max(known.serial * SERIALS_MAX, pending.last);
    this.#serialsEnd = (Math.floor(this.#serial / SERIALS_MAX) + 1) * SERIALS_MAX;
  }

  get<T>(kind: Kind<T, unknown>, given: string): T | null {
    const key = storedKey(given);
    const changed = this.#changed.get(documentName(kind.name, key));
    return (changed ? changed.doc : this.#read(kind.name, key).doc) as T | null;
  }

  put<T>(kind: Kind<T, unknown>, key: string, doc: T): void {
    this.#change(kind as Kind<never, unknown>, key, { doc: this.#taken(doc) });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    this.#change(kind, key, { doc: null, isNew: true, rewritten: null, appended: [] });
  }

  first<T>(kind: Kind<T, unknown>, given: string, limit: number): Entry<T>[] {
    const index = storedKey(given);
    const own = [...this.#changed.values()].filter((changed) => changed.kind.name === kind.name);
    // Documents of the range that the step has changed may leave it.
    const wanted = Math.min(MAX, limit + own.length);
    const read: Read = ['first', kind.name, index, wanted];
    const known = this.#known.first(read);
    if (known === undefined) this.missing.push(read);
    const changed = new Map(
      [...this.#pending.ofKind(kind.name), ...own].map((one) => [one.key, one] as const),
    );
    const stored = (known ?? [])
      .filter(({ key }) => !changed.has(key))
      .map(({ key, name }) => ({ key, name, doc: this.#known.document(kind.name, key)?.doc ?? null }));
    const found = [...stored, ...changed.values()]
      .flatMap(({ key, name, doc }) => {
        const place = doc === null ? undefined : listPlaces(kind, doc as T).find(([of]) => of === index);
        return place === undefined ? [] : [{ key, name, doc: doc as T, place }];
      })
      .sort((a, b) => a.place[1] - b.place[1] || a.place[2] - b.place[2] || (a.key < b.key ? -1 : 1))
      .slice(0, limit);
    // Earlier steps have taken documents out of a range that goes on.
    if (known?.length === wanted && found.length < limit) this.missing.push(read);
    return found.map(({ key, name, doc }) => ({
      key: originalKey(key, name),
      doc: changed.has(key) ? (copy(doc) as T) : doc,
    }));
  }

  count(kind: Kind<never, unknown>, given: string): number {
    const index = storedKey(given);
    const read: Read = ['count', kind.name, index];
    const stored = this.#known.count(read);
    if (stored === undefined) this.missing.push(read);
    const isIn = (doc: unknown) =>
      Number(doc !== null && listPlaces(kind, doc as never).some(([name]) => name === index));
    const own = [...this.#changed.values()].filter((changed) => changed.kind.name === kind.name);
    return [...this.#pending.ofKind(kind.name), ...own].reduce(
      (sum, { doc, before }) => sum + isIn(doc) - isIn(before.doc),
      stored ?? 0,
    );
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const { appended } = this.#listed(kind, key);
    this.#change(kind, key, { appended: [...appended, ...items.map((item) => this.#taken(item))] });
  }

  items<I>(kind: Kind<never, I>, given: string, start = 0): I[] {
    const key = storedKey(given);
    const own = this.#changed.get(documentName(kind.name, key));
    if ((own ? own.doc : this.#read(kind.name, key).doc) === null) return [];
    const pending = this.#pending.get(kind.name, key);
    const layers = [own, pending].filter((layer) => layer !== undefined);
    let appended: readonly unknown[] = [];
    for (const layer of layers) {
      appended = [...layer.appended, ...appended];
      if (layer.rewritten || layer.isNew)
        return copy([...(layer.rewritten ?? []), ...appended].slice(start)) as I[];
    }
    // The stored items before `start` need not be read, unless others follow them here.
    const read: Read = ['list', kind.name, key, appended.length > 0 ? Math.min(0, start) : start];
    const stored = this.#known.items(read);
    const isOutdated =
      pending !== undefined && pending.before.version !== this.#known.document(kind.name, key)?.version;
    if (stored === undefined || isOutdated) this.missing.push(read);
    if (appended.length === 0) return [...(stored ?? [])] as I[];
    return copy([...(stored ?? []), ...appended].slice(start)) as I[];
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    this.#listed(kind, key);
    this.#change(kind, key, { rewritten: items.map((item) => this.#taken(item)), appended: [] });
  }

  log<R>(ring: Ring<R>, record: R): void {
    this.#logged.push(['log', ring.name, JSON.stringify(record), ring.ids(record).map(storedKey)]);
  }

  serial(): number {
    this.#serial++;
    if (this.#serial >= this.#serialsEnd) throw new Error(`a step takes more than ${SERIALS_MAX} numbers`);
    return this.#serial;
  }

  newOwner(): string {
    const place = this.#claims++;
    this.#owners[place] ??= randomSuffix();
    return this.#owners[place];
  }

  tell(channel: string, ...heard: readonly unknown[]): void {
    this.told.push([channel, heard]);
  }

  /** Whether earlier steps of the trip have changed a document that this run has read in an older version. */
  isOutdatedBy(pending: Pending): boolean {
    return [...this.#checked.keys()].some((name) => pending.has(name));
  }

  /** The documents that were read or changed, with the versions that they must still have. */
  checks(): Check[] {
    return [...this.#checked.values()].map(([kind, key]) => [
      kind,
      key,
      this.#found(kind, key)?.version ?? 0,
    ]);
  }

  /** The changes to be stored. They are also added to those that later steps of the trip see. */
  writes(seenBy?: Pending): Write[] {
    if (this.#changed.size === 0) return this.#logged;
    const version = this.serial();
    seenBy?.add(this.#changed.values(), version);
    const changes = [...this.#changed.values()].flatMap((changed): Write[] => {
      const { kind, key, name, doc, before, isNew, rewritten, appended } = changed;
      const dropped: Write[] = isNew ? [['delete', kind.name, key]] : [];
      if (doc === null) return dropped;
      const places = isNew ? listPlaces(kind, doc as never) : movedPlaces(kind, before.doc, doc);
      const list = (items: readonly unknown[]) => items.map((item) => JSON.stringify(item));
      return [
        ...dropped,
        ['put', kind.name, key, JSON.stringify(doc), kind.expires(doc as never), places, version, name],
        ...(rewritten ? [['rewrite', kind.name, key, list(rewritten)] as const] : []),
        ...(appended.length > 0 ? [['append', kind.name, key, list(appended)] as const] : []),
      ];
    });
    return [...changes, ...this.#logged];
  }

  /** Whether a number is left for the version of the changed documents. */
  get hasRoom(): boolean {
    return this.#serial + 1 < this.#serialsEnd;
  }

  /** The size of the changes, in characters, roughly. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is anything to store or to tell. */
  get hasEffect(): boolean {
    return this.#changed.size > 0 || this.#logged.length > 0 || this.told.length > 0;
  }

  /** The document before the step; notes that the step depends on it. */
  #read(kind: string, key: string): Version {
    this.#checked.set(documentName(kind, key), [kind, key]);
    const found = this.#found(kind, key);
    if (found === undefined) this.missing.push(['document', kind, key]);
    return found ?? { version: 0, doc: null };
  }

  /** Callers of earlier steps have their documents, so that each run gets a copy of its own. */
  #found(kind: string, key: string): Version | undefined {
    const pending = this.#pending.get(kind, key);
    if (pending === undefined) return this.#known.document(kind, key);
    return { version: pending.version, doc: copy(pending.doc) };
  }

  #listed(kind: Kind<never, unknown>, key: string): Changed {
    const changed = this.#trackChange(kind, key);
    if (changed.doc === null && this.missing.length === 0)
      throw new Error(`the document ${kind.name} of a list does not exist`);
    return changed;
  }

  #trackChange(kind: Kind<never, unknown>, given: string): Changed {
    const key = storedKey(given);
    const known = this.#changed.get(documentName(kind.name, key));
    if (known) return known;
    const before = this.#read(kind.name, key);
    const list = { isNew: false, rewritten: null, appended: [] };
    return { kind, key, name: storedName(given), doc: before.doc, before, ...list };
  }

  /** A copy of what is to be stored. */
  #taken(value: unknown): unknown {
    const text = JSON.stringify(value);
    this.#size += text.length;
    return JSON.parse(text);
  }

  #change(kind: Kind<never, unknown>, key: string, to: Partial<Changed>): void {
    const changed = { ...this.#trackChange(kind, key), ...to };
    this.#changed.set(documentName(kind.name, changed.key), changed);
  }
}

/** Maximum number of documents of one index that a step reads. */
const MAX = 1_000_000;
/** Maximum number of serials and versions of one step. */
const SERIALS_MAX = 10_000;

function listPlaces<T>(kind: Kind<T, unknown>, doc: T): Places {
  return (kind.indexes?.(doc) ?? []).map(([index, score, tie = 0]) => [storedKey(index), score, tie]);
}

/** The places of the changed document; null if they are the same as before. */
function movedPlaces(kind: Kind<never, unknown>, before: unknown, after: unknown): Places | null {
  const places = listPlaces(kind, after as never);
  const old = before === null ? [] : listPlaces(kind, before as never);
  return JSON.stringify(places) === JSON.stringify(old) ? null : places;
}

function copy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
