import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, statfsSync, truncateSync, unlinkSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

const MIB = 1024 * 1024;
/**
 * New messages are refused if less space is free than the smaller of this number of bytes and this share of the volume.
 */
const LOW_WATER_BYTES = 64 * MIB;
const LOW_WATER_SHARE = 0.05;

/**
 * How long a result of the file system is reused, ms. Each query costs up to half a millisecond, and the data written
 * in this time is a small part of the low-water mark.
 */
const FRESH_MS = 50;

interface Space {
  free_bytes: number;
  /** If there is less space than this, new messages are refused. */
  low_water_bytes: number;
}

/** The space on the volume of a directory. */
export class Volume {
  readonly #directory: string;
  #asked_at = Number.NEGATIVE_INFINITY;
  #space: Space | null = null;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The space, at most 50 ms old; null if the file system does not report it. */
  space(): Space | null {
    const now = performance.now();
    if (now - this.#asked_at >= FRESH_MS) this.askAgain();
    return this.#space;
  }

  /** Asks the file system again. Called after a change that used or freed space. */
  askAgain(): void {
    this.#asked_at = performance.now();
    this.#space = readSpace(this.#directory);
  }

  /** Whether this much space is free above the low-water mark; true if the file system does not report its space. */
  hasRoom(bytes = 0): boolean {
    const space = this.space();
    return space === null || space.free_bytes - bytes >= space.low_water_bytes;
  }
}

function readSpace(directory: string): Space | null {
  try {
    const { bsize, blocks, bavail } = statfsSync(directory);
    // Some network and pseudo file systems report no size.
    if (blocks === 0) return null;
    const low_water_bytes = Math.min(LOW_WATER_BYTES, LOW_WATER_SHARE * blocks * bsize);
    return { free_bytes: bavail * bsize, low_water_bytes };
  } catch {
    // The error of the next read or write will say more.
    return null;
  }
}

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

/** `OVERLAYFS_SUPER_MAGIC` of linux/magic.h. */
const OVERLAYFS = 0x794c7630;

/** Files that Docker and Podman put into each container. */
const MARKERS = ['/.dockerenv', '/run/.containerenv'];

/**
 * Whether a directory is in the writable layer of a container, which is deleted with the container. A volume is on a
 * file system of the host, not on overlayfs.
 */
export function isInContainerLayer(
  directory: string,
  { typeOf = fileSystemType, exists = existsSync, env = process.env } = {},
): boolean {
  const inContainer = MARKERS.some((path) => exists(path)) || env.KUBERNETES_SERVICE_HOST !== undefined;
  return inContainer && typeOf(directory) === OVERLAYFS;
}

/** The type of the directory's file system; null if it cannot be determined. */
function fileSystemType(directory: string): number | null {
  try {
    return statfsSync(directory).type;
  } catch {
    return null;
  }
}
