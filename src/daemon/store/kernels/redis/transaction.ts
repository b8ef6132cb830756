import type { Kind, Ring } from '../kernel.ts';
import {
  type Answer,
  type Changed,
  createRead,
  OptimisticTx,
  type Pending,
  type Read,
} from '../optimistic-tx.ts';
import { readExpiry } from '../read-kind.ts';
import { ABSENT, RedisDocument } from './cache.ts';
import { buildCommands, buildSharedCommand, type Command } from './commands.ts';
import { indexKey, ringKey } from './keys.ts';
import type { View } from './view.ts';

/** One run of a step on what a view knows. */
export class RedisTx extends OptimisticTx<RedisDocument> {
  readonly now: number;
  protected readonly absent = ABSENT;
  readonly #view: View;
  readonly #version: () => string;
  readonly #logged: Command[] = [];
  /** The indexes that must be empty when the step is stored. */
  readonly #empty = new Set<string>();
  #own: string | null = null;

  /** @param version makes the version of the documents that the run changes */
  constructor(view: View, owners: string[], pending: Pending<RedisDocument>, version: () => string) {
    super(owners, pending);
    this.#view = view;
    this.#version = version;
    this.now = view.now;
  }

  log<R>(ring: Ring<R>, record: R): void {
    const ids = ['', ...ring.ids(record), ''].join('\n');
    const { name, max, retention_ms } = ring;
    this.#logged.push(['LOG', ringKey(name), max, retention_ms, this.now, this.taken(record), ids]);
  }

  override get missing(): readonly Read[] {
    // An index that was read before a document may have been changed in between, together with the document.
    const learned = this.#learned;
    const outdated = this.#view.isFresh
      ? []
      : [...this.reads.values()].filter(
          (read) =>
            (read.what === 'first' || read.what === 'count') &&
            (this.#view.answer(read)?.trip ?? learned) < learned,
        );
    return [...super.missing, ...outdated];
  }

  override get visibleChanges(): readonly Changed<RedisDocument>[] {
    const learned = this.#learned;
    return this.changes
      .filter(({ kind }) => !kind.shared)
      .map((change) => ({ ...change, after: change.after.at(learned) }));
  }

  /** The number of the last trip that has read a document of which the step depends. */
  get #learned(): number {
    return this.checked.reduce((last, { stored }) => Math.max(last, stored.learned), 0);
  }

  get empty(): readonly string[] {
    return [...this.#empty];
  }

  override get hasEffect(): boolean {
    return super.hasEffect || this.#logged.length > 0;
  }

  /** The commands that store the changes, except those of shared texts. */
  commands(): Command[] {
    return [...this.changes.flatMap(buildCommands), ...this.#logged];
  }

  /** For each shared document: its key, its text before, and the command that stores the new one. */
  sharedCommands(): { key: string; before: string | null; command: Command | null }[] {
    return this.checked.flatMap(({ kind, key, stored }) => {
      if (!kind.shared) return [];
      const after = this.latest(kind, key);
      const command = after === stored ? null : buildSharedCommand(key, stored, after);
      return [{ key, before: stored.shared?.text ?? null, command }];
    });
  }

  /** The document, also a shared one, of which only a part is stored under its own key. */
  override get<T>(kind: Kind<T, unknown>, key: string): T | null {
    const found = this.latest(kind as Kind<never, unknown>, key);
    return (kind.shared ? (found.shared?.doc ?? null) : found.doc) as T | null;
  }

  protected known(kind: Kind<never, unknown>, key: string): RedisDocument | undefined {
    return this.#view.document(kind, key)?.asOf(this.now);
  }

  protected serialOfStep(): number {
    return Number(this.ask<number>(createRead('serial', null))?.value ?? 0);
  }

  protected answer<T>(read: Read): Answer<T> | undefined {
    return this.#view.answer<T>(read);
  }

  protected override mayBeEmpty({ what, kind, of }: Read): boolean {
    if (what !== 'first' || kind === null || !this.#view.mayBeEmpty(kind, of)) return false;
    this.#empty.add(indexKey(kind.name, of));
    return true;
  }

  protected storedItems(kind: Kind<never, unknown>, key: string, start: number): readonly string[] {
    const read = createRead('items', kind, key, start);
    const answer = this.ask<readonly [version: string, items: readonly string[]]>(read);
    if (answer === undefined) return [];
    const [version, items] = answer.value;
    if (version !== this.known(kind, key)?.version) {
      // Either may be the older one: another process may have changed both since the document was cached.
      this.miss(read);
      this.miss(createRead('document', kind, key));
    }
    return items;
  }

  protected written(kind: Kind<never, unknown>, doc: unknown): RedisDocument {
    const { shared } = kind;
    if (doc === null) return new RedisDocument('', null, null, 0, shared && NO_TEXT);
    const given = doc as never;
    const text = JSON.stringify(shared ? shared.beside(given) : doc);
    const whole = shared && { doc, text: shared.text(given) };
    return new RedisDocument(this.#ownVersion, storedExpiry(kind, given), text, 0, whole);
  }

  protected touched({ expires_at, text }: RedisDocument): RedisDocument {
    return new RedisDocument(this.#ownVersion, expires_at, text);
  }

  get #ownVersion(): string {
    this.#own ??= this.#version();
    return this.#own;
  }
}

const NO_TEXT = { doc: null, text: null };

/** When the document ends. Redis takes no time before 1970, and 0 stands for never. */
function storedExpiry<T>(kind: Kind<T, unknown>, doc: T): number | null {
  const expires_at = readExpiry(kind, doc);
  return expires_at === null ? null : Math.max(1, expires_at);
}
