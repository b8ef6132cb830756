import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { BIN, baseEnv } from './daemon.ts';

/** script(1) of util-linux, which gives a program a terminal of its own. */
export const HAS_TERMINALS =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;

/** What a terminal sends for a key. */
export const KEY = { enter: '\r', up: '\u{1b}[A', ctrlC: '\u{3}', ctrlD: '\u{4}' } as const;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A program on a terminal: what is typed, and what has been shown, escape sequences included. */
export class Terminal {
  /** Resolves with the exit code of the program. */
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #shown = '';
  /** How much of it has been looked at. */
  #seen = 0;
  #ended = false;

  /** @param line for the shell; `agentd` in it is the program. */
  constructor(line: string, options: { cwd: string; env?: Record<string, string> }) {
    const shell = `agentd() { '${process.execPath}' '${BIN}' "$@"; }; ${line}`;
    this.#child = spawn('script', ['--quiet', '--return', '--flush', '--command', shell, '/dev/null'], {
      cwd: options.cwd,
      env: { ...baseEnv(options.cwd), SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1', ...options.env },
      // What script(1) says of its own end.
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    running.add(this.#child);
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#shown += text;
      for (const listener of this.#listeners) listener();
    });
    this.exited = once(this.#child, 'close').then(([code]) => {
      running.delete(this.#child);
      this.#ended = true;
      for (const listener of this.#listeners) listener();
      return code as number | null;
    });
  }

  get shown(): string {
    return this.#shown;
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Resolves when this has been shown after what was looked for before. */
  shows(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = this.#shown.indexOf(text, this.#seen);
        if (found >= 0) {
          this.#seen = found + text.length;
          resolve();
        } else if (this.#ended) reject(new Error(`ended without ${text}:\n${this.#shown}`));
        else return;
        this.#listeners.delete(check);
      };
      this.#listeners.add(check);
      check();
    });
  }

  /** Closes the terminal, as a window is closed. */
  async close(): Promise<void> {
    this.#child.kill();
    await this.exited;
  }
}
