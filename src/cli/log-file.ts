import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const CHUNK_BYTES = 65_536;
/** A line beyond this is cut, so that a file that is no log cannot fill the memory. */
const LINE_MAX_BYTES = 1_048_576;
const POLL_MS = 250;
const NEWLINE = 0x0a;

/** What `tail` read, and where a follower goes on. */
export interface Tail {
  /** Oldest first, without their line ends. */
  lines: string[];
  /** Byte behind the last whole line. */
  end: number;
}

/** What is asked of the lines while they are read backwards. */
export interface Wanted {
  count: number;
  /** A last line without a line end counts too; a follower meets it again when it is whole. */
  unfinished: boolean;
  matches(line: string): boolean;
  /** True where no earlier line can match any more. */
  enough?(line: string): boolean;
}

/**
 * The last lines of a file that are wanted, read backwards from its end: time goes with what is asked for,
 * memory with that and one chunk.
 */
export async function tail(path: string, wanted: Wanted): Promise<Tail> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const lines: string[] = [];
    let end = size;
    let first = true;
    for await (const { bytes, at } of linesBackwards(file, size)) {
      if (first) {
        first = false;
        end = at;
        // Behind the last line end stands nothing, or a line that is still being written.
        if (bytes.length === 0 || !wanted.unfinished) continue;
      }
      const line = bytes.toString('utf8');
      if (lines.length >= wanted.count || wanted.enough?.(line)) break;
      if (wanted.matches(line)) lines.push(line);
    }
    return { lines: lines.reverse(), end };
  } finally {
    await file.close();
  }
}

/** The pieces between line ends, the last one first, with the byte that each begins at. */
async function* linesBackwards(
  file: FileHandle,
  size: number,
): AsyncGenerator<{ bytes: Buffer; at: number }> {
  let position = size;
  let pending = Buffer.alloc(0);
  while (position > 0) {
    const length = Math.min(CHUNK_BYTES, position);
    position -= length;
    const chunk = await readExactly(file, position, length);
    let until = chunk.length;
    for (
      let cut = chunk.lastIndexOf(NEWLINE);
      cut !== -1;
      cut = cut > 0 ? chunk.lastIndexOf(NEWLINE, cut - 1) : -1
    ) {
      yield { bytes: Buffer.concat([chunk.subarray(cut + 1, until), pending]), at: position + cut + 1 };
      pending = Buffer.alloc(0);
      until = cut;
    }
    // The end of an overlong line is given up, its beginning kept.
    pending = Buffer.concat([chunk.subarray(0, until), pending]).subarray(0, LINE_MAX_BYTES);
  }
  if (size > 0) yield { bytes: pending, at: 0 };
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break; // Truncated meanwhile.
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** A file that is being followed: the byte to go on from, and the beginning of a line that is not whole yet. */
interface Reading {
  file: FileHandle;
  position: number;
  pending: Buffer;
}

/**
 * The lines that are appended from a byte on, as they come, across rotation: when the path names another
 * file, the old one is read to its end and the new one from its start; when the file has become shorter, it
 * is read from its start. Waits for a file that is not there. Ends when the signal aborts.
 */
export async function* follow(path: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let reading = await begin(path, from);
  let replaced = false;
  try {
    while (!signal.aborted) {
      const another = reading !== null && (await isAnother(path, reading.file));
      if (reading !== null) yield* readOn(reading);
      // A writer goes on in the old file until it is told to open the new one: it is left a round later.
      if (reading === null || (another && replaced)) {
        const next = await begin(path, 0);
        if (next !== null) {
          await reading?.file.close();
          reading = next;
          replaced = false;
          continue;
        }
      }
      replaced = another;
      await pause(POLL_MS, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  } finally {
    await reading?.file.close();
  }
}

async function begin(path: string, position: number): Promise<Reading | null> {
  const file = await open(path, 'r').catch(unlessMissing);
  return file && { file, position, pending: Buffer.alloc(0) };
}

/** What has been added since; moves the reading on. */
async function* readOn(reading: Reading): AsyncGenerator<string> {
  const { size } = await reading.file.stat();
  if (size < reading.position) Object.assign(reading, { position: 0, pending: Buffer.alloc(0) });
  for (;;) {
    const chunk = await readExactly(reading.file, reading.position, CHUNK_BYTES);
    if (chunk.length === 0) return;
    reading.position += chunk.length;
    let rest = Buffer.concat([reading.pending, chunk]);
    for (let cut = rest.indexOf(NEWLINE); cut !== -1; cut = rest.indexOf(NEWLINE)) {
      yield rest.subarray(0, cut).toString('utf8');
      rest = rest.subarray(cut + 1);
    }
    reading.pending = rest.subarray(0, LINE_MAX_BYTES);
  }
}

/** Does the path name another file than the open one? Not while it names none: then it is being rotated. */
async function isAnother(path: string, file: FileHandle): Promise<boolean> {
  const [open, named] = await Promise.all([
    file.stat({ bigint: true }),
    stat(path, { bigint: true }).catch(unlessMissing),
  ]);
  return named !== null && (named.ino !== open.ino || named.dev !== open.dev);
}

function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
