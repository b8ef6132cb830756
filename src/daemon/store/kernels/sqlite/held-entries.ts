import { totalmem } from 'node:os';
import type { HeldEntry } from './documents.ts';

const MIB = 1024 * 1024;
/**
 * How many characters of documents are kept in memory: a 32nd of the memory of the machine or container, within bounds.
 * A person with a session takes about 4,000. Documents that are only in the journal come on top.
 */
const HELD_MAX = Math.min(128 * MIB, Math.max(16 * MIB, memorySize() / 32));
/** Approximately what an entry takes besides its text. */
const ENTRY_SIZE = 400;
/** How many entries are looked at at a time. It limits how long the event loop is blocked. */
const LOOKS = 2000;
/** If the entries take this many times as much as they may, all of them are looked at. */
const FAR = 1.25;

/** The entries in memory, in a circle. Entries that were not used since the last time around are dropped. */
export class HeldEntries {
  /** The next entry to look at. */
  #hand: HeldEntry | null = null;
  #count = 0;
  readonly #max: number;
  /** The characters that they take. */
  size = 0;

  /** @param max `HELD_MAX` except in tests */
  constructor(max = HELD_MAX) {
    this.#max = max;
  }

  add(entry: HeldEntry): void {
    const next = this.#hand ?? entry;
    const previous = this.#hand?.previous ?? entry;
    entry.next = next;
    entry.previous = previous;
    previous.next = entry;
    next.previous = entry;
    this.#hand = next;
    this.#count++;
    this.size += ENTRY_SIZE;
  }

  remove(entry: HeldEntry): void {
    const { next, previous } = entry;
    if (next === null || previous === null) return;
    previous.next = next;
    next.previous = previous;
    if (this.#hand === entry) this.#hand = next === entry ? null : next;
    entry.next = null;
    entry.previous = null;
    this.#count--;
    this.size -= ENTRY_SIZE;
  }

  /** Drops entries that were not used for long if all take too much. */
  dropUnused(mayBeDropped: (entry: HeldEntry) => boolean, drop: (entry: HeldEntry) => void): void {
    const looks = this.size > FAR * this.#max ? 2 * this.#count : LOOKS;
    for (let look = 0; look < looks && this.size > this.#max; look++) {
      const entry = this.#hand as HeldEntry;
      this.#hand = entry.next;
      if (entry.isUsed || !mayBeDropped(entry)) entry.isUsed = false;
      else drop(entry);
    }
  }
}

/** The memory that this process may use, bytes: of the machine, or of its container. */
function memorySize(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
