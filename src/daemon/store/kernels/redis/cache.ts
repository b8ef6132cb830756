import { randomBytes } from 'node:crypto';
import { Stored } from '../optimistic-tx.ts';

/** The text of a document that other programs write, too, and the document that it makes with what is beside it. */
interface SharedText {
  readonly text: string | null;
  readonly doc: unknown;
}

/** A document as it is stored under its own key. Of a shared one, that is what is beside the text. */
export class RedisDocument extends Stored {
  /** The number of the trip before which this version may have been unknown. */
  readonly learned: number;
  readonly shared: SharedText | undefined;

  constructor(
    version: string,
    expires_at: number | null,
    text: string | null,
    learned = 0,
    shared?: SharedText,
  ) {
    super(version, expires_at, text);
    this.learned = learned;
    this.shared = shared;
  }

  /** The same document, learned at another trip. */
  at(learned: number): RedisDocument {
    return new RedisDocument(this.version, this.expires_at, this.text, learned);
  }

  /** The same document, absent if it has expired. */
  asOf(now: number): RedisDocument {
    if (this.text === null || this.isAlive(now)) return this;
    return new RedisDocument('', null, null, this.learned, this.shared);
  }

  /** The value of the key. */
  get value(): string {
    return this.version + String(this.expires_at ?? 0).padStart(EXPIRY_LENGTH, '0') + this.text;
  }

  /** @param value of the key; null if there is none */
  static of(value: string | null, learned: number): RedisDocument {
    if (value === null) return ABSENT.at(learned);
    const expires_at = Number(value.slice(VERSION_LENGTH, HEAD_LENGTH)) || null;
    const version = value.slice(0, VERSION_LENGTH);
    return new RedisDocument(version, expires_at, value.slice(HEAD_LENGTH), learned);
  }
}

export const ABSENT = new RedisDocument('', null, null);

const VERSION_LENGTH = 20;
/** Room for times until the year 2286. */
const EXPIRY_LENGTH = 13;
/** Of the version and the expiry at the beginning of a value. */
export const HEAD_LENGTH = VERSION_LENGTH + EXPIRY_LENGTH;

/** Makes versions, none of which any process has made before. */
export class Versions {
  readonly #prefix = randomBytes(PREFIX_BYTES).toString('base64url');
  #count = 0;

  next(): string {
    return this.#prefix + (this.#count++).toString(36).padStart(COUNTER_LENGTH, '0');
  }
}

/** 11 characters. */
const PREFIX_BYTES = 8;
const COUNTER_LENGTH = 9;

/** Documents that this process has read or written, by name. They may be outdated: a commit has to check their versions. */
export class Cache {
  /** Sparse indexes that were not empty when they were last read or changed. */
  readonly #filled = new Set<string>();
  readonly #entries = new Map<string, RedisDocument>();
  #size = 0;

  get(name: string): RedisDocument | undefined {
    return this.#entries.get(name);
  }

  isFilled(index: string): boolean {
    return this.#filled.has(index);
  }

  /** Notes whether an index is empty. */
  noteIndex(index: string, isEmpty: boolean): void {
    this.#filled.delete(index);
    if (isEmpty) return;
    this.#filled.add(index);
    if (this.#filled.size <= ENTRIES_MAX) return;
    const [oldest] = this.#filled;
    this.#filled.delete(oldest as string);
  }

  /** Notes what a trip has read or written, unless a later one is known. */
  note(name: string, found: RedisDocument): void {
    const known = this.get(name);
    if (known !== undefined && known.learned > found.learned) return;
    const stored = known?.version === found.version ? known : found;
    const length = stored.text?.length ?? 0;
    this.#delete(name);
    if (length > ENTRY_MAX) return;
    this.#entries.set(name, stored);
    this.#size += length;
    while (this.#entries.size > ENTRIES_MAX || this.#size > SIZE_MAX) {
      const [oldest] = this.#entries.keys();
      this.#delete(oldest as string);
    }
  }

  #delete(name: string): void {
    const known = this.#entries.get(name);
    if (known === undefined) return;
    this.#entries.delete(name);
    this.#size -= known.text?.length ?? 0;
  }
}

const ENTRIES_MAX = 10_000;
/** Maximum number of characters of all documents, and of one of them. */
const SIZE_MAX = 16_000_000;
const ENTRY_MAX = 1_000_000;
