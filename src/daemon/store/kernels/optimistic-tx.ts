import { randomSuffix } from '../../time/clock.ts';
import type { Entry, IndexEntry, Kind, Ring, Tx } from './kernel.ts';
import { comparePlaces } from './ordered-index.ts';
import { listEntries } from './read-kind.ts';

/** A document as it is stored: version, expiry, JSON. An absent one has the version ''. */
export class Stored {
  readonly version: string;
  /** Null if it does not expire. */
  readonly expires_at: number | null;
  readonly text: string | null;
  #doc: unknown;
  #isParsed = false;

  constructor(version: string, expires_at: number | null, text: string | null) {
    this.version = version;
    this.expires_at = expires_at;
    this.text = text;
  }

  /** Null if there is none. It must not be changed. */
  get doc(): unknown {
    if (!this.#isParsed) {
      this.#doc = this.text === null ? null : JSON.parse(this.text);
      this.#isParsed = true;
    }
    return this.#doc;
  }

  isAlive(now: number): boolean {
    return this.text !== null && (this.expires_at === null || this.expires_at > now);
  }
}

/** What a step reads. */
export interface Read {
  readonly what: 'document' | 'first' | 'count' | 'items' | 'serial';
  readonly kind: Kind<never, unknown> | null;
  /** The key of the document, or the index. */
  readonly of: string;
  /** Of `first`: the limit; of `items`: the start. */
  readonly n: number;
  readonly id: string;
}

export function createRead(what: Read['what'], kind: Read['kind'], of = '', n = 0): Read {
  const id = `${what === 'items' ? `items ${n}` : what} ${documentName(kind?.name ?? '', of)}`;
  return { what, kind, of, n, id };
}

/** The answer to a read of an index, a list or a number. `n`: of the read. */
export interface Answer<T> {
  readonly value: T;
  readonly n: number;
}

export type Row<Version> = readonly [key: string, stored: Version];

/** A document before and after a step. */
export interface Changed<Version> {
  readonly kind: Kind<never, unknown>;
  readonly key: string;
  readonly before: Version;
  readonly after: Version;
  /** The indexes in which the document is after the step. */
  readonly entries: readonly IndexEntry[];
  /** Whether the list was deleted with an earlier document of the same key. */
  readonly isNew: boolean;
  readonly rewritten: readonly string[] | null;
  readonly appended: readonly string[];
}

/**
 * The changes of the steps that are stored before this one in the same trip. Steps of one process that change the same
 * document see each other's changes here; otherwise all but one of them would have to run again.
 */
export class Pending<Version extends Stored> {
  readonly #documents = new Map<string, Changed<Version>>();
  /** The last number that the steps have used. */
  last = 0;

  get({ name }: Kind<never, unknown>, key: string): Changed<Version> | undefined {
    return this.#documents.get(documentName(name, key));
  }

  ofKind({ name }: Kind<never, unknown>): Changed<Version>[] {
    return [...this.#documents.values()].filter(({ kind }) => kind.name === name);
  }

  add(changes: readonly Changed<Version>[]): void {
    for (const change of changes) {
      const earlier = this.get(change.kind, change.key);
      this.#documents.set(documentName(change.kind.name, change.key), following(earlier, change));
    }
  }
}

/** Both changes of a document, the later of which was made on what the earlier one left. */
function following<Version>(
  earlier: Changed<Version> | undefined,
  later: Changed<Version>,
): Changed<Version> {
  if (earlier === undefined) return later;
  const { before } = earlier;
  if (later.isNew || later.rewritten) return { ...later, before, isNew: later.isNew || earlier.isNew };
  const { isNew, rewritten, appended } = earlier;
  return { ...later, before, isNew, rewritten, appended: [...appended, ...later.appended] };
}

/** A document on which a step depends, as the step has read it. */
export interface Checked<Version> {
  readonly kind: Kind<never, unknown>;
  readonly key: string;
  readonly stored: Version;
}

/**
 * One run of a step on a database that other processes change, too: it collects the changes, which are stored if the
 * documents that it has read have not changed since. A read that is not known yet is answered as if nothing were stored,
 * and is noted as missing: the run is then only used to find out what else the step reads.
 */
export abstract class OptimisticTx<Version extends Stored> implements Tx {
  abstract readonly now: number;
  readonly told: (readonly [channel: string, heard: readonly unknown[]])[] = [];
  /** All that the run has read, by id. */
  readonly reads = new Map<string, Read>();
  readonly #missing = new Map<string, Read>();
  readonly #owners: string[];
  readonly #pending: Pending<Version>;
  #serial = 0;
  readonly #changed = new Map<string, Changed<Version>>();
  /** The documents whose versions decide whether the step may be stored. */
  readonly #checked = new Map<string, Checked<Version>>();
  #claims = 0;
  #size = 0;

  /**
   * @param owners of the claims that the step takes, the same in each run; made when they are needed
   * @param pending what earlier steps of the trip change
   */
  constructor(owners: string[], pending: Pending<Version>) {
    this.#owners = owners;
    this.#pending = pending;
  }

  abstract log<R>(ring: Ring<R>, record: R): void;
  /** The document as it is stored, absent if it has expired; undefined if it is not known. */
  protected abstract known(kind: Kind<never, unknown>, key: string): Version | undefined;
  protected abstract answer<T>(read: Read): Answer<T> | undefined;
  /** Whether the run may go on as if the index that it reads were empty. */
  protected mayBeEmpty(_read: Read): boolean {
    return false;
  }
  /** A number that no other step has, and that is greater than those of earlier steps. */
  protected abstract serialOfStep(): number;
  /** The items of the list as they are stored; notes what is missing. */
  protected abstract storedItems(kind: Kind<never, unknown>, key: string, start: number): readonly string[];
  /** The document as the step leaves it; absent if it is null. */
  protected abstract written(kind: Kind<never, unknown>, doc: unknown): Version;
  /** The document as the step leaves it if only its list is changed. */
  protected abstract touched(stored: Version): Version;
  protected abstract readonly absent: Version;

  get<T>(kind: Kind<T, unknown>, key: string): T | null {
    return this.latest(kind as Kind<never, unknown>, key).doc as T | null;
  }

  put<T>(kind: Kind<T, unknown>, key: string, doc: T): void {
    const own = kind as Kind<never, unknown>;
    const after = this.written(own, doc);
    const entries = listEntries(own, doc);
    this.#size += after.text?.length ?? 0;
    this.#change({ ...this.#trackChange(own, key), after, entries });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    const none = { after: this.written(kind, null), entries: [], isNew: true, rewritten: null, appended: [] };
    this.#change({ ...this.#trackChange(kind, key), ...none });
  }

  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[] {
    const of = kind as Kind<never, unknown>;
    const own = this.#ownChanges(of);
    // Documents of the range that the step has changed may leave it.
    const read = createRead('first', of, index, Math.min(MAX, limit + own.length));
    const answer = this.ask<readonly Row<Version>[]>(read);
    const rows = answer?.value ?? [];
    const changes = new Map([...this.#pending.ofKind(of), ...own].map((change) => [change.key, change]));
    if (changes.size === 0) return rows.slice(0, limit).map(([key, { doc }]) => ({ key, doc: doc as T }));
    const stored = rows.map(([key, row]) => ({ key, after: row, entries: listEntries(of, row.doc) }));
    const locate = ({ key, after, entries }: Pick<Changed<Version>, 'key' | 'after' | 'entries'>) => {
      const entry = entries.find(([name]) => name === index);
      if (entry === undefined) return [];
      const [, score, tie = 0] = entry;
      return [{ key, after, score, tie }];
    };
    const found = [...stored.filter(({ key }) => !changes.has(key)), ...changes.values()]
      .flatMap(locate)
      .filter(({ after }) => after.isAlive(this.now))
      .sort(comparePlaces)
      .slice(0, limit);
    const [end] = answer && rows.length >= answer.n ? stored.slice(-1).flatMap(locate) : [];
    const last = found.at(-1);
    // If the range goes on, others may come before what is found behind its end.
    if (end && (found.length < limit || (last && comparePlaces({ ...last, key: end.key }, end) > 0)))
      this.miss(read);
    return found.map(({ key, after }) => ({ key, doc: after.doc as T }));
  }

  count(kind: Kind<never, unknown>, index: string): number {
    const answer = this.ask<number>(createRead('count', kind, index));
    if (answer === undefined) return 0;
    const count = (entries: readonly IndexEntry[]) => Number(entries.some(([name]) => name === index));
    return [...this.#pending.ofKind(kind), ...this.#ownChanges(kind)].reduce(
      (sum, { before, entries }) => sum + count(entries) - count(listEntries(kind, before.doc)),
      answer.value,
    );
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const { appended, ...changed } = this.#listed(kind, key);
    this.#change({ ...changed, appended: [...appended, ...items.map((item) => this.taken(item))] });
  }

  items<I>(kind: Kind<never, I>, key: string, start = 0): I[] {
    if (this.latest(kind, key).text === null) return [];
    const parse = (items: readonly string[]) => items.map((item) => JSON.parse(item) as I);
    const [earlier, own] = [this.#pending.get(kind, key), this.#changed.get(documentName(kind.name, key))];
    const changed = own ? following(earlier, own) : earlier;
    const added = changed?.appended ?? [];
    if (changed?.rewritten || changed?.isNew)
      return parse([...(changed.rewritten ?? []), ...added].slice(start));
    // The stored items before `start` need not be read, unless others follow them here.
    const stored = this.storedItems(kind, key, added.length > 0 ? Math.min(0, start) : start);
    return parse(added.length > 0 ? [...stored, ...added].slice(start) : stored);
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const rewritten = items.map((item) => this.taken(item));
    this.#change({ ...this.#listed(kind, key), rewritten, appended: [] });
  }

  serial(): number {
    this.#serial = Math.max(this.#serial, this.serialOfStep() * SERIALS_MAX, this.#pending.last) + 1;
    if (this.#serial % SERIALS_MAX === 0) throw new Error(`a step takes more than ${SERIALS_MAX} numbers`);
    return this.#serial;
  }

  /** The last number that the step has used; 0 if it has used none. */
  get last(): number {
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

  /** What the run would have to know, and does not. */
  get missing(): readonly Read[] {
    return [...this.#missing.values()];
  }

  get checked(): readonly Checked<Version>[] {
    return [...this.#checked.values()];
  }

  get changes(): readonly Changed<Version>[] {
    return [...this.#changed.values()];
  }

  /** The changes as later steps of the trip see them. */
  get visibleChanges(): readonly Changed<Version>[] {
    return this.changes;
  }

  /** Whether a run after these changes would see the same. */
  isCurrent(pending: Pending<Version>): boolean {
    const isSame = ({ kind, key, stored }: Checked<Version>) =>
      (pending.get(kind, key)?.after ?? this.known(kind, key))?.version === stored.version;
    const hasChanges = ({ what, kind }: Read) =>
      kind !== null && (what === 'first' || what === 'count') && pending.ofKind(kind).length > 0;
    return this.checked.every(isSame) && ![...this.reads.values()].some(hasChanges);
  }

  /** The size of the changes, in characters, roughly. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is anything to store or to tell. */
  get hasEffect(): boolean {
    return this.#changed.size > 0 || this.told.length > 0;
  }

  /** The answer, if it is known; notes it as missing otherwise. */
  protected ask<T>(read: Read): Answer<T> | undefined {
    addRead(this.reads, read);
    const answer = this.answer<T>(read);
    const isShort =
      read.what === 'first' && (answer?.value as readonly unknown[] | undefined)?.length === answer?.n;
    if ((answer === undefined || (isShort && answer.n < read.n)) && !this.mayBeEmpty(read)) this.miss(read);
    return answer;
  }

  protected miss(read: Read): void {
    addRead(this.#missing, read);
  }

  /** The document as the step sees it. */
  protected latest(kind: Kind<never, unknown>, key: string): Version {
    return this.#changed.get(documentName(kind.name, key))?.after ?? this.stored(kind, key);
  }

  /** The document before the step; notes that the step depends on it. */
  protected stored(kind: Kind<never, unknown>, key: string): Version {
    const name = documentName(kind.name, key);
    const known = this.#checked.get(name);
    if (known) return known.stored;
    const read = createRead('document', kind, key);
    this.reads.set(read.id, read);
    const found = this.#find(kind, key);
    if (found === undefined) this.miss(read);
    const stored = found ?? this.absent;
    this.#checked.set(name, { kind, key, stored });
    return stored;
  }

  /** The text of what is to be stored. */
  protected taken(value: unknown): string {
    const text = JSON.stringify(value);
    this.#size += text.length;
    return text;
  }

  /** The document before the step; undefined if that is not known. */
  #find(kind: Kind<never, unknown>, key: string): Version | undefined {
    const known = this.known(kind, key);
    const pending = this.#pending.get(kind, key);
    if (pending === undefined) return known;
    // Otherwise the earlier step has read what this one does not know yet, or the reverse.
    return known?.version === pending.before.version ? pending.after : undefined;
  }

  #ownChanges({ name }: Kind<never, unknown>): Changed<Version>[] {
    return [...this.#changed.values()].filter(({ kind }) => kind.name === name);
  }

  #listed(kind: Kind<never, unknown>, key: string): Changed<Version> {
    if (kind.hasList !== true) throw new Error(`documents ${kind.name} have no lists`);
    const changed = this.#trackChange(kind, key);
    if (changed.after.text === null && this.#missing.size === 0)
      throw new Error(`the document ${kind.name} of a list does not exist`);
    return { ...changed, after: this.touched(changed.after) };
  }

  #trackChange(kind: Kind<never, unknown>, key: string): Changed<Version> {
    const known = this.#changed.get(documentName(kind.name, key));
    if (known) return known;
    const before = this.stored(kind, key);
    const list = { isNew: before.text === null, rewritten: null, appended: [] };
    return { kind, key, before, after: before, entries: listEntries(kind, before.doc), ...list };
  }

  #change(changed: Changed<Version>): void {
    this.#changed.set(documentName(changed.kind.name, changed.key), changed);
  }
}

/** Maximum number of documents of one index that a step reads. */
const MAX = 1_000_000;
/** Maximum number of serials of one step. */
const SERIALS_MAX = 10_000;

/** Of two reads of one index, the longer one is enough. */
function addRead(reads: Map<string, Read>, read: Read): void {
  if ((reads.get(read.id)?.n ?? Number.NEGATIVE_INFINITY) < read.n) reads.set(read.id, read);
}

export function documentName(kind: string, key: string): string {
  return `${kind} ${key}`;
}
