/** A line that begins a fence for every reader of Markdown: at its very beginning, with at most a language after it. */
const PLAIN = /^(`{3,}|~{3,})[\w+#.-]*[ \t]*$/;
/** A line that ends a fence, if its marks are those of the fence. */
const END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
/** Marks that may be a fence: of how many lists and quotations they are part is up to the reader. */
export const FENCE_MARKS = /`{3,}|~{3,}/;

/**
 * Follows the fences of code in a text. Readers of Markdown agree on plain fences only. Whether other marks begin a
 * fence depends on the indentation that a reader expects in lists.
 */
export class FenceReader {
  #open: string | null = null;

  /** The marks that close the fence that is open; null if none is open. */
  get open(): string | null {
    return this.#open;
  }

  /** Reads the next line. @returns whether every reader sees the same in it. */
  read(line: string): boolean {
    if (this.#open !== null) {
      if (END.exec(line)?.[1]?.startsWith(this.#open)) this.#open = null;
      return true;
    }
    this.#open = PLAIN.exec(line)?.[1] ?? null;
    return this.#open !== null || !FENCE_MARKS.test(line);
  }
}
