import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makePrivateDirectory } from '../files/make-directory.ts';
import { ConfigurationError } from '../settings/problem.ts';

/** Maximum number of bytes that wait for a reader; further lines are dropped. */
export const QUEUE_MAX = 1024 * 1024;
/** Wait after a refused write before the next attempt, ms; doubled each time. */
const RETRY_MIN_MS = 10;
const RETRY_MAX_MS = 250;
/** How long the last lines of a process wait for a slow reader, ms. */
export const LAST_LINES_MS = 1000;

/** Writes as many of the bytes as fit now and returns their number. Throws EAGAIN if none fits. */
export type WriteSome = (bytes: Uint8Array) => number;

/**
 * Writes the log to standard error. A line is written before the call returns, so that it survives `kill -9`. A reader
 * that has stalled never blocks the daemon: up to `QUEUE_MAX` bytes of lines wait for it. Beyond that, new lines are
 * dropped until the reader has caught up, and one line says how many. Lines that cannot be written for another reason
 * (a full disk, a closed pipe) are dropped and counted in the same way.
 */
export class LogOutput {
  readonly #writeSome: WriteSome;
  readonly #formatNotice: (dropped: number) => string;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #dropped = 0;
  /** Whether the last write ended in the middle of a line. */
  #midLine = false;
  #lastLines = false;
  #timer: NodeJS.Timeout | undefined;
  #delay = RETRY_MIN_MS;

  /** @param formatNotice the line that says how many lines were dropped. */
  constructor(writeSome: WriteSome, formatNotice: (dropped: number) => string) {
    this.#writeSome = writeSome;
    this.#formatNotice = formatNotice;
  }

  /** Bytes that wait for the reader. */
  get queued(): number {
    return this.#queued;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#lastLines) this.#writeLast(bytes);
    else if (this.#queued === 0) this.#writeNow(bytes);
    else if (this.#dropped > 0 || this.#queued + bytes.length > QUEUE_MAX) this.#dropped++;
    else this.#enqueue(bytes);
  }

  /** Blocks until all lines are written, at most `ms`. @returns whether they are. */
  #flush(ms: number): boolean {
    const until = performance.now() + ms;
    while (!this.#catchUp()) {
      if (performance.now() >= until) return false;
      sleep(RETRY_MIN_MS);
    }
    return true;
  }

  /**
   * Called when the process is about to end. From then on, each line blocks until it is written or `LAST_LINES_MS` have
   * passed.
   */
  beginLastLines(): void {
    this.#lastLines = true;
  }

  #writeNow(bytes: Uint8Array): void {
    const before = this.#dropped;
    const notice = this.#takeNotice();
    const rest = this.#send(notice === null ? bytes : Buffer.concat([notice, bytes]), before + 1);
    if (rest.length > 0) this.#wait(rest);
  }

  /**
   * Gives the reader a last chance to take the waiting lines. If it does not, they are dropped: the last line matters
   * more.
   */
  #writeLast(bytes: Uint8Array): void {
    if (!this.#flush(LAST_LINES_MS)) {
      this.#dropped += this.#queue.reduce((lines, waiting) => lines + linesIn(waiting), 0);
      this.#forgetQueue();
    }
    this.#writeNow(bytes);
    this.#flush(LAST_LINES_MS);
  }

  /** Writes the waiting lines. @returns false if the reader has no room for all of them. */
  #catchUp(): boolean {
    if (this.#queued > 0) {
      const [only, ...others] = this.#queue;
      const waiting = only && others.length === 0 ? only : Buffer.concat(this.#queue);
      this.#forgetQueue();
      this.#enqueue(this.#send(waiting));
      if (this.#queued > 0) return false;
    }
    const before = this.#dropped;
    const notice = this.#takeNotice();
    if (notice === null) return true;
    this.#enqueue(this.#send(notice, before));
    return this.#queued === 0;
  }

  #wait(rest: Uint8Array): void {
    this.#enqueue(rest);
    this.#delay = RETRY_MIN_MS;
    this.#retryLater();
  }

  #retryLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const before = this.#queued;
      if (this.#catchUp()) return;
      this.#delay = this.#queued < before ? RETRY_MIN_MS : Math.min(2 * this.#delay, RETRY_MAX_MS);
      this.#retryLater();
    }, this.#delay).unref();
  }

  #enqueue(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queued += bytes.length;
  }

  #forgetQueue(): void {
    this.#queue = [];
    this.#queued = 0;
  }

  /**
   * The line that says how many lines were dropped; null if there were none. Called while nothing waits, so a line that
   * was written only in part will not be completed.
   */
  #takeNotice(): Uint8Array | null {
    if (this.#dropped === 0) return null;
    const notice = `${this.#midLine ? '\n' : ''}${this.#formatNotice(this.#dropped)}`;
    this.#dropped = 0;
    return Buffer.from(notice);
  }

  /**
   * @param lines how many log lines are lost if the bytes cannot be written.
   * @returns the bytes for which the reader has no room now.
   */
  #send(bytes: Uint8Array, lines?: number): Uint8Array {
    let rest = bytes;
    try {
      while (rest.length > 0) {
        const written = this.#writeSome(rest);
        this.#midLine = rest[written - 1] !== NEWLINE;
        rest = rest.subarray(written);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return rest;
      this.#dropped += lines ?? linesIn(rest);
      return NOTHING;
    }
    return rest;
  }
}

const NOTHING = new Uint8Array();
const NEWLINE = 0x0a;

/**
 * Writes to standard error without blocking, whatever it is connected to: a paused terminal must not block the daemon.
 */
export function standardError(): WriteSome {
  // Node opens pipes and sockets as non-blocking and terminals as blocking, and has no public way to change that.
  const { _handle } = process.stderr as { _handle?: { setBlocking?(on: boolean): void } };
  _handle?.setBlocking?.(false);
  return (bytes) => writeSync(2, bytes);
}

function linesIn(bytes: Uint8Array): number {
  return bytes.reduce((lines, byte) => (byte === NEWLINE ? lines + 1 : lines), 0);
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * The file of the log (LOG_FILE). Each line is written at once, so that nothing is lost at `kill -9`. If the file
 * cannot be written (for example, the disk is full), the daemon continues without it, and drops the lines. It reports
 * this once. When the file can be written again, it reports how many lines were dropped.
 */
export class LogFile {
  readonly #path: string;
  readonly #tell: (line: string) => void;
  #fd: number;
  #lost = 0;

  /**
   * @param tell reports problems with the file on standard error.
   * @throws ConfigurationError if the file cannot be opened.
   */
  constructor(path: string, tell: (line: string) => void) {
    this.#path = path;
    this.#tell = tell;
    try {
      makePrivateDirectory(dirname(path));
      this.#fd = open(path);
    } catch (error) {
      const problem = `cannot be opened: ${whyNot(error)}`;
      const right = 'the path of a file that this user may write; or unset, for standard error only';
      throw new ConfigurationError([{ setting: 'LOG_FILE', value: path, source: null, problem, right }]);
    }
  }

  write(line: string): void {
    try {
      const bytes = Buffer.from(line);
      for (let from = 0; from < bytes.length; ) from += writeSync(this.#fd, bytes, from);
    } catch (error) {
      this.#lost++;
      if (this.#lost === 1) this.#say('error', `the log file cannot be written: ${whyNot(error)}`);
      return;
    }
    if (this.#lost === 0) return;
    const lost = this.#lost === 1 ? '1 line was lost' : `${this.#lost} lines were lost`;
    this.#say('warn', `the log file can be written again; ${lost}`);
    this.#lost = 0;
  }

  /**
   * Opens the file again after an operator has rotated it (logrotate, then SIGHUP). False if that fails; the old file
   * is then kept.
   */
  reopen(): boolean {
    try {
      const fd = open(this.#path);
      closeSync(this.#fd);
      this.#fd = fd;
      return true;
    } catch (error) {
      this.#say('error', `the log file cannot be reopened: ${whyNot(error)}`);
      return false;
    }
  }

  #say(level: 'warn' | 'error', msg: string): void {
    this.#tell(`${JSON.stringify({ level, time: new Date().toISOString(), file: this.#path, msg })}\n`);
  }
}

/**
 * Opens without blocking: LOG_FILE may name a pipe that nobody reads at the moment. A regular file never blocks. Only
 * its owner can read a new file, since it says who wrote when. A file that an operator has made keeps its mode.
 */
function open(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
}

function whyNot(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
