import { randomBytes } from 'node:crypto';
import { lstatSync, truncateSync, unlinkSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

/** Size of the reserve file, bytes. */
export const RESERVE_BYTES = 16 * 1024 * 1024;

/** Size of one write, bytes. The event loop is free between writes. */
const PIECE_BYTES = 1024 * 1024;

/** The share of the file that is kept for deletions when the first part is released. */
const LAST_SHARE = 1 / 4;

/** The unit of `stat().blocks`, bytes. It does not depend on the block size of the file system. */
const STAT_BLOCK_BYTES = 512;

/**
 * A file that occupies disk space so that the space can be released when the disk is full. The first three quarters are
 * for answers. The last quarter is for deleting expired rows, which needs space before it frees any.
 */
export class Reserve {
  readonly #path: string;
  readonly bytes: number;
  #made: boolean;
  #closed = false;

  /** @param bytes the size of the file; `RESERVE_BYTES` except in tests. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.bytes = bytes;
    this.#made = isWhole(path, bytes);
  }

  get made(): boolean {
    return this.#made;
  }

  /**
   * Releases the first part if the file is complete, otherwise the rest. @returns false if nothing could be released.
   */
  giveUp(): boolean {
    const wasWhole = this.#made;
    this.#made = false;
    try {
      if (wasWhole) truncateSync(this.#path, this.bytes * LAST_SHARE);
      else unlinkSync(this.#path);
      return true;
    } catch {
      // The file is missing, or the directory cannot be written, so no space can be freed.
      return false;
    }
  }

  /** Writes the file. If the disk is too full for it, no file remains. */
  async make(): Promise<void> {
    const unfinished = `${this.#path}.new`;
    try {
      await rm(unfinished, { force: true });
      await this.#write(unfinished);
      await rename(unfinished, this.#path);
      this.#made = true;
    } catch {
      await rm(unfinished, { force: true });
    }
  }

  /** Stops writing the file. */
  close(): void {
    this.#closed = true;
  }

  /** Writes random bytes, because a file system may compress other content, or store zeros as a hole. */
  async #write(path: string): Promise<void> {
    const piece = randomBytes(Math.min(PIECE_BYTES, this.bytes));
    // `wx` does not follow a link that another user of a shared directory has made, to a file of this user.
    const file = await open(path, 'wx', 0o600);
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

/** Whether the file exists, is no link to another file, has its full size, and is not sparse. */
function isWhole(path: string, bytes: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return (
    found?.isFile() === true &&
    found.nlink === 1 &&
    found.size >= bytes &&
    found.blocks * STAT_BLOCK_BYTES >= bytes
  );
}
