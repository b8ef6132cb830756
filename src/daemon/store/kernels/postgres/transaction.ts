import type { IndexEntry, Kind, Ring } from '../kernel.ts';
import { type Answer, createRead, OptimisticTx, type Pending, type Read, Stored } from '../optimistic-tx.ts';
import { listEntries, readExpiry } from '../read-kind.ts';
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

/** One run of a step on what a trip has read, and on the changes of earlier steps. */
export class PostgresTx extends OptimisticTx<Stored> {
  readonly now: number;
  protected readonly absent = ABSENT;
  readonly #known: Known;
  readonly #logged: Write[] = [];

  constructor(known: Known, owners: string[], pending: Pending<Stored>) {
    super(owners, pending);
    this.#known = known;
    this.now = known.now;
  }

  log<R>(ring: Ring<R>, record: R): void {
    this.#logged.push(['log', ring.name, JSON.stringify(record), ring.ids(record).map(storedKey)]);
  }

  /** The documents that were read or changed, with the versions that they must still have. */
  checks(): Check[] {
    return this.checked.map(({ kind, key, stored }) => [kind.name, storedKey(key), Number(stored.version)]);
  }

  /** The changes to be stored. */
  writes(): Write[] {
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
        ['put', kind.name, key, after.text, expires_at, moved, this.#version, name],
        ...(rewritten ? [['rewrite', kind.name, key, rewritten] as const] : []),
        ...(appended.length > 0 ? [['append', kind.name, key, appended] as const] : []),
      ];
    });
    return [...changes, ...this.#logged];
  }

  override get hasEffect(): boolean {
    return super.hasEffect || this.#logged.length > 0;
  }

  protected known({ name }: Kind<never, unknown>, key: string): Stored | undefined {
    return this.#known.document(name, key);
  }

  protected serialOfStep(): number {
    return this.#known.serial;
  }

  protected answer<T>(read: Read): Answer<T> | undefined {
    return this.#known.answer<T>(read);
  }

  protected storedItems(kind: Kind<never, unknown>, key: string, start: number): readonly string[] {
    return this.ask<readonly string[]>(createRead('items', kind, key, start))?.value ?? [];
  }

  protected written(kind: Kind<never, unknown>, doc: unknown): Stored {
    if (doc === null) return ABSENT;
    return new Stored(String(this.#version), readExpiry(kind, doc as never), JSON.stringify(doc));
  }

  protected touched({ expires_at, text }: Stored): Stored {
    return new Stored(String(this.#version), expires_at, text);
  }

  /** The version of the documents that the step changes. */
  get #version(): number {
    return this.#known.serial;
  }
}

function toPlaces(entries: readonly IndexEntry[]): Places {
  return entries.map(([index, score, tie = 0]) => [storedKey(index), score, tie]);
}
