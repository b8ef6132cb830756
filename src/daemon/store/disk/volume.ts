import { statfsSync } from 'node:fs';

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
