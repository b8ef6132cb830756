import { randomSuffix } from '../../../time/clock.ts';
import type { Entry, Kind, Ring, Tx } from '../kernel.ts';
import { ABSENT, Stored } from './cache.ts';
import { buildCommands, buildSharedCommand, type Changed, type Command, listPlaces } from './commands.ts';
import { indexKey, ringKey } from './keys.ts';
import { createRead, documentName, type Read, type Row, type SharedStored, type View } from './view.ts';

interface Checked {
  readonly kind: Kind<never, unknown>;
  readonly key: string;
  readonly stored: Stored;
  readonly shared: SharedStored | undefined;
}

/**
 * One run of a step. A read that is not known yet is answered as if nothing were stored, and is noted as missing: the
 * run is then only used to find out what else the step reads.
 */
export class RedisTx implements Tx {
  readonly now: number;
  readonly told: (readonly [channel: string, heard: readonly unknown[]])[] = [];
  /** All that the run has read, by id. */
  readonly reads = new Map<string, Read>();
  readonly #missing = new Map<string, Read>();
  readonly #view: View;
  readonly #owners: string[];
  readonly #version: () => string;
  readonly #changed = new Map<string, Changed>();
  readonly #logged: Command[] = [];
  /** The documents whose versions decide whether the step may be stored. */
  readonly #checked = new Map<string, Checked>();
  /** The indexes that must be empty when the step is stored. */
  readonly #empty = new Set<string>();
  /** The changes of this process that the run has seen. */
  readonly #seen: number;
  #hasIndexes = false;
  #own: string | null = null;
  #serial: number | null = null;
  #claims = 0;
  #size = 0;

  /**
   * @param owners of the claims that the step takes, the same in each run; made when they are needed
   * @param version makes the version of the documents that the run changes
   */
  constructor(view: View, owners: string[], version: () => string) {
    this.#view = view;
    this.#owners = owners;
    this.#version = version;
    this.#seen = view.seen;
    this.now = view.now;
  }

  get<T>(kind: Kind<T, unknown>, key: string): T | null {
    return this.#readDoc(kind as Kind<never, unknown>, key) as T | null;
  }

  put<T>(kind: Kind<T, unknown>, key: string, given: T): void {
    const own = kind as Kind<never, unknown>;
    const text = JSON.stringify(kind.shared ? kind.shared.beside(given) : given);
    const expires_at = readExpiry(kind, given);
    const changed = this.#trackChange(own, key);
    const after = new Stored(this.#ownVersion, expires_at, text);
    const shared = changed.shared && { ...changed.shared, doc: given };
    this.#size += text.length;
    this.#change(own, key, { ...changed, after, shared, places: listPlaces(own, key, given) });
  }

  delete(kind: Kind<never, unknown>, key: string): void {
    const changed = this.#trackChange(kind, key);
    const none = { after: ABSENT, places: [], isNew: true, rewritten: null, appended: [] };
    const shared = changed.shared && { ...changed.shared, doc: null };
    this.#change(kind, key, { ...changed, ...none, shared });
  }

  first<T>(kind: Kind<T, unknown>, index: string, limit: number): Entry<T>[] {
    const of = kind as Kind<never, unknown>;
    const own = [...this.#changed.values()].filter((changed) => changed.kind.name === kind.name);
    // Documents of the range that the step has changed may leave it.
    const read = createRead('first', of, index, Math.min(MAX, limit + own.length));
    const answer = this.#ask<readonly Row[]>(read);
    const rows = answer?.value ?? [];
    const since = answer ? this.#view.changesSince(answer, of) : [];
    const changes = new Map([...since, ...own].map((change) => [change.key, change]));
    if (changes.size === 0) return rows.slice(0, limit).map(([key, found]) => ({ key, doc: found.doc as T }));
    const stored = rows.filter(([key]) => !changes.has(key)).map(([key, found]) => ({ key, found }));
    const changed = [...changes.values()].map(({ key, after }) => ({ key, found: after }));
    const name = indexKey(kind.name, index);
    const found = [...stored, ...changed]
      .flatMap(({ key, found: one }) => {
        const doc = one.isAlive(this.now) ? (one.doc as T) : null;
        const place = doc === null ? undefined : listPlaces(of, key, doc).find(([at]) => at === name);
        return doc === null || place === undefined ? [] : [{ key, doc, place }];
      })
      .sort(({ place: a }, { place: b }) => a[1] - b[1] || (a[2] < b[2] ? -1 : 1))
      .slice(0, limit);
    // Other steps have taken documents out of a range that goes on.
    if (answer && rows.length >= answer.n && found.length < limit) this.#missing.set(...toEntry(read));
    return found.map(({ key, doc }) => ({ key, doc }));
  }

  count(kind: Kind<never, unknown>, index: string): number {
    const answer = this.#ask<number>(createRead('count', kind, index));
    if (answer === undefined) return 0;
    const name = indexKey(kind.name, index);
    const isIn = (key: string, { doc }: Stored) =>
      Number(doc !== null && listPlaces(kind, key, doc).some(([at]) => at === name));
    const own = [...this.#changed.values()].filter((changed) => changed.kind.name === kind.name);
    return [...this.#view.changesSince(answer, kind), ...own].reduce(
      (sum, { key, before, after }) => sum + isIn(key, after) - isIn(key, before),
      answer.value,
    );
  }

  append<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const changed = this.#listed(kind, key);
    this.#change(kind, key, {
      ...changed,
      appended: [...changed.appended, ...items.map((item) => this.#taken(item))],
    });
  }

  items<I>(kind: Kind<never, I>, key: string, start = 0): I[] {
    if (this.#readDoc(kind, key) === null) return [];
    const own = this.#changed.get(documentName(kind.name, key));
    const parse = (items: readonly string[]) => items.map((item) => JSON.parse(item) as I);
    const added = own?.appended ?? [];
    if (own?.rewritten || own?.isNew) return parse([...(own.rewritten ?? []), ...added].slice(start));
    // The stored items before `start` need not be read, unless others follow them here.
    const read = createRead('items', kind, key, added.length > 0 ? Math.min(0, start) : start);
    const answer = this.#ask<readonly [version: string, items: readonly string[]]>(read);
    const [version, stored] = answer?.value ?? ['', []];
    if (answer && version !== this.#checked.get(documentName(kind.name, key))?.stored.version) {
      // Either may be the older one: another process may have changed both since the document was cached.
      this.#missing.set(...toEntry(read));
      this.#missing.set(...toEntry(createRead('document', kind, key)));
    }
    return parse(added.length > 0 ? [...stored, ...added].slice(start) : stored);
  }

  rewrite<I>(kind: Kind<never, I>, key: string, items: readonly I[]): void {
    const changed = this.#listed(kind, key);
    this.#change(kind, key, { ...changed, rewritten: items.map((item) => this.#taken(item)), appended: [] });
  }

  log<R>(ring: Ring<R>, record: R): void {
    const ids = ['', ...ring.ids(record), ''].join('\n');
    const { name, max, retention_ms } = ring;
    this.#logged.push(['LOG', ringKey(name), max, retention_ms, this.now, this.#taken(record), ids]);
  }

  serial(): number {
    const first = Number(this.#ask<number>(createRead('serial', null))?.value ?? 0) * SERIALS_MAX;
    this.#serial = (this.#serial ?? first) + 1;
    if (this.#serial >= first + SERIALS_MAX) throw new Error(`a step takes more than ${SERIALS_MAX} numbers`);
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
  get missing(): Read[] {
    // An index that was read before a document may have been changed in between, together with the document.
    const { learned } = this;
    const outdated = this.#view.isFresh
      ? []
      : [...this.reads.values()].filter(
          (read) =>
            (read.what === 'first' || read.what === 'count') &&
            (this.#view.answer(read)?.trip ?? learned) < learned,
        );
    return [...this.#missing.values(), ...outdated];
  }

  /** The number of the last trip that has read a document of which the step depends. */
  get learned(): number {
    return [...this.#checked.values()].reduce((last, { stored }) => Math.max(last, stored.learned), 0);
  }

  /** Whether a run would see the same now. */
  isCurrent(): boolean {
    if (this.#hasIndexes && this.#view.seen !== this.#seen) return false;
    return [...this.#checked.values()].every(
      ({ kind, key, stored, shared }) =>
        shared !== undefined || this.#view.document(kind, key)?.version === stored.version,
    );
  }

  get checked(): readonly Checked[] {
    return [...this.#checked.values()];
  }

  get empty(): readonly string[] {
    return [...this.#empty];
  }

  get changes(): readonly Changed[] {
    return [...this.#changed.values()];
  }

  /** The size of the changes, in characters, roughly. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is anything to store or to tell. */
  get hasEffect(): boolean {
    return this.#changed.size > 0 || this.#logged.length > 0 || this.told.length > 0;
  }

  /** The version of a document that must still be the same when the step is stored; empty if it must be absent. */
  expected({ stored }: Checked): string {
    return stored.isAlive(this.now) ? stored.version : '';
  }

  /** The commands that store the changes, except those of shared texts. */
  commands(): Command[] {
    return [...this.changes.flatMap(buildCommands), ...this.#logged];
  }

  /** For each shared document: its key, its text before, and the command that stores the new one. */
  sharedCommands(): { key: string; before: string | null; command: Command | null }[] {
    return this.checked.flatMap(({ kind, key, shared }) => {
      if (!kind.shared) return [];
      const before = shared?.text ?? null;
      const changed = this.#changed.get(documentName(kind.name, key));
      return [{ key, before, command: changed ? buildSharedCommand(changed) : null }];
    });
  }

  #readDoc(kind: Kind<never, unknown>, key: string): unknown {
    const changed = this.#changed.get(documentName(kind.name, key));
    if (changed) return changed.shared ? changed.shared.doc : changed.after.doc;
    const { stored, shared } = this.#read(kind, key);
    if (kind.shared) return shared?.doc ?? null;
    return stored.isAlive(this.now) ? stored.doc : null;
  }

  /** The document before the step; notes that the step depends on it. */
  #read(kind: Kind<never, unknown>, key: string): Checked {
    const name = documentName(kind.name, key);
    const known = this.#checked.get(name);
    if (known) return known;
    const read = createRead('document', kind, key);
    this.reads.set(...toEntry(read));
    const shared = kind.shared && this.#view.sharedDocument(kind, key);
    const found = kind.shared ? shared?.stored : this.#view.document(kind, key);
    if (found === undefined) this.#missing.set(...toEntry(read));
    const checked = { kind, key, stored: found ?? ABSENT, shared };
    this.#checked.set(name, checked);
    return checked;
  }

  #ask<T>(read: Read) {
    this.#hasIndexes ||= read.what !== 'serial';
    this.reads.set(...toEntry(read));
    const answer = this.#view.answer<T>(read);
    const isShort = read.what === 'first' && (answer?.value as Row[] | undefined)?.length === answer?.n;
    if (answer !== undefined && !(isShort && answer.n < read.n)) return answer;
    const { kind, of } = read;
    if (read.what === 'first' && kind !== null && this.#view.mayBeEmpty(kind, of))
      this.#empty.add(indexKey(kind.name, of));
    else this.#missing.set(...toEntry(read));
    return answer;
  }

  #listed(kind: Kind<never, unknown>, key: string): Changed {
    if (kind.hasList !== true) throw new Error(`documents ${kind.name} have no lists`);
    const changed = this.#trackChange(kind, key);
    if (changed.after.text === null && this.#missing.size === 0)
      throw new Error(`the document ${kind.name} of a list does not exist`);
    const { expires_at, text } = changed.after;
    return { ...changed, after: new Stored(this.#ownVersion, expires_at, text) };
  }

  #trackChange(kind: Kind<never, unknown>, key: string): Changed {
    const known = this.#changed.get(documentName(kind.name, key));
    if (known) return known;
    const { stored, shared } = this.#read(kind, key);
    const isThere = stored.isAlive(this.now);
    const before = isThere ? stored : ABSENT;
    return {
      ...{
        kind,
        key,
        before,
        after: before,
        isNew: !isThere,
        rewritten: null,
        appended: [],
        isRefused: false,
      },
      places: isThere ? listPlaces(kind, key, stored.doc) : [],
      shared: kind.shared ? { doc: shared?.doc ?? null, before: shared?.text ?? null } : null,
    };
  }

  #change(kind: Kind<never, unknown>, key: string, changed: Changed): void {
    this.#changed.set(documentName(kind.name, key), changed);
  }

  /** The text of what is to be stored. */
  #taken(value: unknown): string {
    const text = JSON.stringify(value);
    this.#size += text.length;
    return text;
  }

  get #ownVersion(): string {
    this.#own ??= this.#version();
    return this.#own;
  }
}

/** Maximum number of documents of one index that a step reads. */
const MAX = 1_000_000;
/** Maximum number of serials of one step. */
const SERIALS_MAX = 10_000;

/** When the document ends. Redis takes no time before 1970, and 0 stands for never. */
function readExpiry<T>(kind: Kind<T, unknown>, doc: T): number | null {
  const expires_at = kind.expires(doc);
  if (expires_at === null) return null;
  if (!Number.isSafeInteger(expires_at))
    throw new Error(`the document ${kind.name} expires at ${expires_at}`);
  return Math.max(1, expires_at);
}

function toEntry(read: Read): [id: string, read: Read] {
  return [read.id, read];
}
