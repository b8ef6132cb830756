import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makePrivateDirectory } from '../files/make-directory.ts';
import { ConfigurationError } from '../settings/problem.ts';

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
