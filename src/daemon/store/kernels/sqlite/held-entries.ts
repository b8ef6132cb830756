import type { Entry } from './documents.ts';

/** How many characters of documents are kept in memory. Documents that are only in the journal come on top. */
const HELD_MAX = 32 * 1024 * 1024;
/** Approximately what an entry takes besides its text. */
const ENTRY_SIZE = 400;

/** The entries in memory, in a circle. Entries that were not used since the last time around are dropped. */
export class HeldEntries {
  /** The next entry to look at. */
  #hand: Entry | null = null;
  #count = 0;
  /** The characters that they take. */
  size = 0;

  add(entry: Entry): void {
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

  remove(entry: Entry): void {
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

  /** Drops entries that were not used for long if they take too much. */
  dropUnused(mayBeDropped: (entry: Entry) => boolean, drop: (entry: Entry) => void): void {
    if (this.size <= HELD_MAX) return;
    for (let looks = 2 * this.#count; looks > 0 && this.size > HELD_MAX * 0.9; looks--) {
      const entry = this.#hand as Entry;
      this.#hand = entry.next;
      if (entry.isUsed || !mayBeDropped(entry)) entry.isUsed = false;
      else drop(entry);
    }
  }
}
