import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { jsonObject } from '../channel/json-object.ts';

const CHUNK_BYTES = 65_536;
/** Maximum length of a line, bytes. Longer lines are cut, so that a file that is not a log cannot fill the memory. */
const LINE_MAX_BYTES = 1_048_576;
const POLL_MS = 250;
const NEWLINE = 0x0a;

/** The lines that `tail` read, and where `follow` continues. */
interface Tail {
  /** Oldest first, without line ends. */
  lines: string[];
  /** Whether earlier lines match, too. */
  more: boolean;
  /** Position after the last complete line. */
  end: number;
}

/** Which lines `tail` returns. */
interface Wanted {
  count: number;
  /** Include a last line without a line end. `follow` reads that line again once it is complete. */
  unfinished: boolean;
  matches(line: string): boolean;
  /** True if neither this line nor an earlier line can match. */
  enough?(line: string): boolean;
}

/**
 * The last matching lines of a file. It reads backward from the end, so time and memory depend on the lines that are
 * returned and not on the size of the file.
 */
export async function tail(path: string, wanted: Wanted): Promise<Tail> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const lines: string[] = [];
    let end = size;
    let first = true;
    let more = false;
    for await (const { bytes, at } of linesBackwards(file, size)) {
      if (first) {
        first = false;
        end = at;
        // After the last line end there is nothing, or a line that is still being written.
        if (bytes.length === 0 || !wanted.unfinished) continue;
      }
      const line = bytes.toString('utf8');
      // If no line is wanted, the caller does not need to know whether there are more.
      if (wanted.count === 0 || wanted.enough?.(line)) break;
      if (!wanted.matches(line)) continue;
      more = lines.length >= wanted.count;
      if (more) break;
      lines.push(line);
    }
    return { lines: lines.reverse(), more, end };
  } finally {
    await file.close();
  }
}

/**
 * All lines of a file from the first one that is new enough, oldest first. It reads backward to find that line, then
 * forward, so memory does not depend on the number of lines.
 * @param isOld true if neither this line nor an earlier one is wanted
 * @param each is called for each line
 * @returns position after the last complete line
 */
export async function readSince(
  path: string,
  { unfinished, isOld }: { unfinished: boolean; isOld(line: string): boolean },
  each: (line: string) => void,
): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    let start = size;
    let end: number | null = null;
    for await (const { bytes, at } of linesBackwards(file, size)) {
      // The first piece that is read is what follows the last line end.
      end ??= at;
      if (isOld(bytes.toString('utf8'))) break;
      start = at;
    }
    const reading: Reading = { file, position: start, pending: Buffer.alloc(0) };
    for await (const line of readOn(reading, size)) each(line);
    const rest = reading.pending;
    if (unfinished && rest.length > 0) each(rest.toString('utf8'));
    return end ?? size;
  } finally {
    await file.close();
  }
}

/** The pieces between line ends, last piece first, each with its position. */
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
    // Only the beginning of an overlong line is kept.
    pending = Buffer.concat([chunk.subarray(0, until), pending]).subarray(0, LINE_MAX_BYTES);
  }
  if (size > 0) yield { bytes: pending, at: 0 };
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break; // The file was truncated.
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** A file that is being followed: the position to continue from, and the beginning of an incomplete line. */
interface Reading {
  file: FileHandle;
  position: number;
  pending: Buffer;
}

/**
 * The lines that are appended after a position, as they are written. It follows rotation: if the path names another
 * file, the old file is read to its end and the new one from its start. If the file has become shorter, it is read from
 * its start. Waits for a file that does not exist yet. Ends when the signal aborts.
 */
export async function* follow(path: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let reading = await begin(path, from);
  let replaced = false;
  try {
    while (!signal.aborted) {
      const another = reading !== null && (await isAnother(path, reading.file));
      if (reading !== null) yield* readOn(reading);
      // The daemon writes to the old file until SIGHUP: read that file for one more round.
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

/** Reads the lines that were added, and moves the position. @param until where to stop; default: the end of the file */
async function* readOn(reading: Reading, until = Number.POSITIVE_INFINITY): AsyncGenerator<string> {
  const { size } = await reading.file.stat();
  if (size < reading.position) Object.assign(reading, { position: 0, pending: Buffer.alloc(0) });
  for (;;) {
    const length = Math.min(CHUNK_BYTES, until - reading.position);
    const chunk = await readExactly(reading.file, reading.position, length);
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

/**
 * Whether the path names a file other than the open file. If there is no file at the path, a rotation is in progress,
 * and the result is false.
 */
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

/** A file to which the log was moved. */
interface RotatedFile {
  path: string;
  isCompressed: boolean;
}

/** The suffixes that logrotate adds: `agentd.log.1`, `agentd.log-20261123`, `agentd.log.2.gz`. */
const SUFFIX = /^[.-]\d[\d.-]*?(\.(?:gz|xz|bz2|zst))?$/;

/** The rotated files of a log that may have lines from after a time, oldest first. @param since ms since the epoch */
export async function rotatedFiles(path: string, since: number): Promise<RotatedFile[]> {
  const [folder, name] = [dirname(path), basename(path)];
  const names = await readdir(folder).catch(() => []);
  const found = names.flatMap((one) => {
    const suffix = one.startsWith(name) ? SUFFIX.exec(one.slice(name.length)) : null;
    return suffix === null ? [] : { path: join(folder, one), isCompressed: suffix[1] !== undefined };
  });
  const dated = await Promise.all(
    found.map(async (file) => ({ file, at: (await stat(file.path).catch(() => null))?.mtimeMs ?? 0 })),
  );
  return dated
    .filter(({ at }) => at >= since)
    .sort((a, b) => a.at - b.at)
    .map(({ file }) => file);
}

/** The levels of log lines, least severe first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which log lines to show. Absent members match every line. */
export interface LogFilter {
  /** This level and more severe ones. */
  level?: LogLevel;
  /** ms since the epoch. */
  since?: number;
  /** Beginnings of ids, in each spelling. */
  session?: readonly string[];
  request?: string;
  channel?: string;
}

/** Whether a line matches. A line that is not a JSON object matches only an empty filter. */
export function matches(line: string, filter: LogFilter): boolean {
  if (Object.keys(filter).length === 0) return true;
  const entry = jsonObject(line);
  const { level, since, session, request, channel } = filter;
  return (
    (level === undefined || LOG_LEVELS.indexOf(entry.level as LogLevel) >= LOG_LEVELS.indexOf(level)) &&
    (since === undefined || parseTime(entry) >= since) &&
    (session === undefined || session.some((text) => isOfSession(entry.session, text))) &&
    (request === undefined || beginsWith(entry.request_id, request)) &&
    (channel === undefined || entry.channel === channel)
  );
}

/** Of a generated id the log contains only the beginning, which may be shorter than the text. */
function isOfSession(logged: unknown, text: string): boolean {
  if (beginsWith(logged, text)) return true;
  return typeof logged === 'string' && logged.endsWith('…') && text.startsWith(logged.slice(0, -1));
}

function beginsWith(id: unknown, text: string): boolean {
  return typeof id === 'string' && id.startsWith(text);
}

/** Whether a line is older than this time. Lines are in order of time, so all lines before it are older, too. */
export function isBefore(line: string, since: number | undefined): boolean {
  return since !== undefined && parseTime(jsonObject(line)) < since;
}

function parseTime(entry: Record<string, unknown>): number {
  return Date.parse(String(entry.time));
}
