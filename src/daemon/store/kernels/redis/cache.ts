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
  /** Whether the step that has written this version could not be stored. */
  isRefused = false;

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
const HEAD_LENGTH = VERSION_LENGTH + EXPIRY_LENGTH;

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

/**
 * Documents that this process has read or written, by name. They may be outdated, so that a commit has to check their
 * versions. A document that a step has changed is here from the moment when its commit is sent: later steps build on it,
 * and fail if it fails.
 */
export class Cache {
  /** Sparse indexes that were not empty when they were last read or changed. */
  readonly #filled = new Set<string>();
  readonly #entries = new Map<string, { stored: RedisDocument; sent: number }>();
  #size = 0;

  get(name: string): RedisDocument | undefined {
    return this.#entries.get(name)?.stored;
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

  /** Notes what a trip has read. A commit that was sent after it is newer. */
  note(name: string, stored: RedisDocument, trip: number): void {
    const known = this.#entries.get(name);
    if (known !== undefined && known.sent > trip) return;
    this.#set(name, known?.stored.version === stored.version ? known.stored : stored, known?.sent ?? 0);
  }

  /** Notes what a commit stores that is about to be sent. */
  write(name: string, stored: RedisDocument, trip: number): void {
    this.#set(name, stored, trip);
  }

  /** Forgets a document, if it still is this one. */
  forget(name: string, stored: RedisDocument | undefined): void {
    if (stored !== undefined && this.get(name)?.version === stored.version) this.#delete(name);
  }

  #set(name: string, stored: RedisDocument, sent: number): void {
    const length = stored.text?.length ?? 0;
    this.#delete(name);
    if (length > ENTRY_MAX) return;
    this.#entries.set(name, { stored, sent });
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
    this.#size -= known.stored.text?.length ?? 0;
  }
}

const ENTRIES_MAX = 10_000;
/** Maximum number of characters of all documents, and of one of them. */
const SIZE_MAX = 16_000_000;
const ENTRY_MAX = 1_000_000;
