import { randomBytes } from 'node:crypto';
import { statSync, truncateSync, unlinkSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

/** Size of the reserve file. */
export const RESERVE_BYTES = 16 * 1024 * 1024;

/** Written at once: the event loop is free in between. */
const PIECE_BYTES = 1024 * 1024;

/** The share of the file that remains for deletions after the first part was given up. */
const LAST_SHARE = 1 / 4;

/** A block of `stat`, whatever the file system's own block size is. */
const STAT_BLOCK_BYTES = 512;

/**
 * A file that takes up space so that it can be given up when the disk is full: three quarters for answers, the
 * last quarter for deleting expired rows, which takes space before it returns any.
 */
export class Reserve {
  readonly #path: string;
  readonly bytes: number;
  #made: boolean;
  #closed = false;

  /** @param bytes size of the file; `RESERVE_BYTES` except in tests. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.bytes = bytes;
    this.#made = isWhole(path, bytes);
  }

  get made(): boolean {
    return this.#made;
  }

  /** Gives up the first part if the file is whole, else the rest. @returns false if there was none to give up. */
  giveUp(): boolean {
    const wasWhole = this.#made;
    this.#made = false;
    try {
      if (wasWhole) truncateSync(this.#path, this.bytes * LAST_SHARE);
      else unlinkSync(this.#path);
      return true;
    } catch {
      // It is missing, or the directory cannot be written: there is no space to gain.
      return false;
    }
  }

  /** Writes the file. If the disk is too full for it, there is none. */
  async make(): Promise<void> {
    const unfinished = `${this.#path}.new`;
    try {
      await this.#write(unfinished);
      await rename(unfinished, this.#path);
      this.#made = true;
    } catch {
      await rm(unfinished, { force: true });
    }
  }

  /** Ends the writing of the file. */
  close(): void {
    this.#closed = true;
  }

  /** Random bytes, since a file system may compress others, or store zeros as a hole. */
  async #write(path: string): Promise<void> {
    const piece = randomBytes(Math.min(PIECE_BYTES, this.bytes));
    const file = await open(path, 'w', 0o600);
    try {
      for (let written = 0; written < this.bytes; written += piece.length) {
        if (this.#closed) throw new Error('the store is closed');
        await file.write(piece);
      }
    } finally {
      await file.close();
    }
  }
}

/** Whether the file is there and not sparse. */
function isWhole(path: string, bytes: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.size >= bytes && found.blocks * STAT_BLOCK_BYTES >= bytes;
}
