import type { IndexEntry, Kind, Ring } from '../kernel.ts';
import {
  type Answer,
  type Changed,
  createRead,
  documentName,
  listEntries,
  OptimisticTx,
  type Read,
  SERIALS_MAX,
  Stored,
} from '../optimistic-tx.ts';
import { ABSENT, type Known } from './known.ts';
import { storedKey, storedName } from './stored-key.ts';

/** A change, as `agentd_store` takes it. */
type Write =
  | readonly [
      ...['put', kind: string, key: string, doc: string, expires_at: number | null, places: Places | null],
      ...[version: number, name: string | null],
    ]
  | readonly ['delete', kind: string, key: string]
  | readonly ['append' | 'rewrite', kind: string, key: string, items: readonly string[]]
  | readonly ['log', ring: string, record: string, ids: readonly string[]];

/** A document that must have this version when the step is stored; 0: it must be absent. */
type Check = readonly [kind: string, key: string, version: number];

type Places = readonly (readonly [index: string, score: number, tie: number])[];

/**
 * The changes of the steps that are stored before this one in the same trip. Steps of one process that change the same
 * document see each other's changes here; otherwise all but one of them would have to run again.
 */
export class Pending {
  readonly #documents = new Map<string, Changed<Stored>>();
  /** The last number that the steps have used. */
  last = 0;

  get(kind: string, key: string): Changed<Stored> | undefined {
    return this.#documents.get(documentName(kind, key));
  }

  ofKind(name: string): Changed<Stored>[] {
    return [...this.#documents.values()].filter(({ kind }) => kind.name === name);
  }

  add(changes: Iterable<Changed<Stored>>, version: number): void {
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
      const { text } = change.after;
      const after = text === null ? ABSENT : new Stored(String(version), null, text);
      this.#documents.set(name, { ...change, ...merged, before, after });
    }
  }
}

/** One run of a step on what a trip has read, and on the changes of earlier steps. */
export class PostgresTx extends OptimisticTx<Stored> {
  readonly now: number;
  protected readonly absent = ABSENT;
  readonly #known: Known;
  readonly #pending: Pending;
  readonly #logged: Write[] = [];
  /** The last number that the step has used. */
  #serial: number;
  readonly #serialsEnd: number;

  constructor(known: Known, owners: string[], pending: Pending) {
    super(owners);
    this.#known = known;
    this.#pending = pending;
    this.now = known.now;
    this.#serial = Math.max(known.serial * SERIALS_MAX, pending.last);
    this.#serialsEnd = (Math.floor(this.#serial / SERIALS_MAX) + 1) * SERIALS_MAX;
  }

  log<R>(ring: Ring<R>, record: R): void {
    this.#logged.push(['log', ring.name, JSON.stringify(record), ring.ids(record).map(storedKey)]);
  }

  serial(): number {
    this.#serial++;
    if (this.#serial >= this.#serialsEnd) throw new Error(`a step takes more than ${SERIALS_MAX} numbers`);
    return this.#serial;
  }

  /** Whether earlier steps of the trip have changed a document that this run has read in an older version. */
  isOutdatedBy(pending: Pending): boolean {
    return this.checked.some(({ kind, key }) => pending.get(kind.name, key) !== undefined);
  }

  /** The documents that were read or changed, with the versions that they must still have. */
  checks(): Check[] {
    return this.checked.map(({ kind, key, stored }) => [kind.name, storedKey(key), Number(stored.version)]);
  }

  /** The changes to be stored. They are also added to those that later steps of the trip see. */
  writes(seenBy: Pending): Write[] {
    if (this.changes.length === 0) return this.#logged;
    const version = this.serial();
    seenBy.add(this.changes, version);
    const changes = this.changes.flatMap((changed): Write[] => {
      const { kind, before, after, entries, isNew, rewritten, appended } = changed;
      const [key, name] = [storedKey(changed.key), storedName(changed.key)];
      const isDropped = isNew && (before.text !== null || after.text === null);
      const dropped: Write[] = isDropped ? [['delete', kind.name, key]] : [];
      if (after.text === null) return dropped;
      const expires_at = kind.expires(after.doc as never);
      const [was, is] = [toPlaces(listEntries(kind, before.doc)), toPlaces(entries)];
      const moved = isDropped || JSON.stringify(was) !== JSON.stringify(is) ? is : null;
      return [
        ...dropped,
        ['put', kind.name, key, after.text, expires_at, moved, version, name],
        ...(rewritten ? [['rewrite', kind.name, key, rewritten] as const] : []),
        ...(appended.length > 0 ? [['append', kind.name, key, appended] as const] : []),
      ];
    });
    return [...changes, ...this.#logged];
  }

  /** Whether a number is left for the version of the changed documents. */
  get hasRoom(): boolean {
    return this.#serial + 1 < this.#serialsEnd;
  }

  override get hasEffect(): boolean {
    return super.hasEffect || this.#logged.length > 0;
  }

  protected find({ name }: Kind<never, unknown>, key: string): Stored | undefined {
    return this.#pending.get(name, key)?.after ?? this.#known.document(name, key);
  }

  protected answer<T>(read: Read): Answer<T> | undefined {
    return this.#known.answer<T>(read);
  }

  protected changesSince(_answer: unknown, { name }: Kind<never, unknown>): Changed<Stored>[] {
    return this.#pending.ofKind(name);
  }

  protected storedItems(kind: Kind<never, unknown>, key: string, start: number): readonly string[] {
    const pending = this.#pending.get(kind.name, key);
    const appended = pending?.appended ?? [];
    if (pending?.rewritten || pending?.isNew) return [...(pending.rewritten ?? []), ...appended].slice(start);
    const read = createRead('items', kind, key, appended.length > 0 ? Math.min(0, start) : start);
    const stored = this.ask<readonly string[]>(read)?.value ?? [];
    const isOutdated =
      pending !== undefined && pending.before.version !== this.#known.document(kind.name, key)?.version;
    if (isOutdated) this.miss(read);
    return appended.length > 0 ? [...stored, ...appended].slice(start) : stored;
  }

  protected written(kind: Kind<never, unknown>, doc: unknown): Stored {
    return doc === null ? ABSENT : new Stored('', kind.expires(doc as never), JSON.stringify(doc));
  }

  protected touched(stored: Stored): Stored {
    return stored;
  }
}

function toPlaces(entries: readonly IndexEntry[]): Places {
  return entries.map(([index, score, tie = 0]) => [storedKey(index), score, tie]);
}
