import { execa, execaSync } from 'execa';
import { closeAtEnd } from './close-at-end.ts';
import { BIN, baseEnv } from './daemon.ts';

/** script(1) of util-linux, which gives a program its own terminal. */
export const HAS_TERMINALS =
  execaSync('script', ['--version'], { reject: false }).stdout?.includes('util-linux') === true;

/** The characters that a terminal sends for a key. */
export const KEY = { enter: '\r', up: '\u{1b}[A', ctrlC: '\u{3}', ctrlD: '\u{4}' } as const;

/** A program on a terminal: the typed input, and the output with its escape sequences. It is closed at the end. */
export class Terminal {
  /** Resolves with the exit code of the program. */
  readonly exited: Promise<number | null>;
  readonly #child: ReturnType<typeof startScript>;
  readonly #listeners = new Set<() => void>();
  #shown = '';
  /** The length of the output that has been checked. */
  #seen = 0;
  #ended = false;

  /** @param line a line for the shell; `agentd` in it is the program. */
  constructor(line: string, options: { cwd: string; env?: Record<string, string> }) {
    const shell = `agentd() { '${process.execPath}' '${BIN}' "$@"; }; ${line}`;
    this.#child = startScript(shell, options);
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#shown += text;
      for (const listener of this.#listeners) listener();
    });
    this.exited = this.#exit();
    closeAtEnd(() => this.close());
  }

  async #exit(): Promise<number | null> {
    const { exitCode = null } = await this.#child;
    this.#ended = true;
    for (const listener of this.#listeners) listener();
    return exitCode;
  }

  get shown(): string {
    return this.#shown;
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Resolves when the text has been shown after the previous match. */
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

  /** Closes the terminal, as if its window were closed. */
  async close(): Promise<void> {
    this.#child.kill();
    await this.exited;
  }
}

function startScript(shell: string, { cwd, env }: { cwd: string; env?: Record<string, string> }) {
  return execa('script', ['--quiet', '--return', '--flush', '--command', shell, '/dev/null'], {
    cwd,
    env: { ...baseEnv(cwd), SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1', ...env },
    extendEnv: false,
    buffer: false,
    reject: false,
    // Ignores what script(1) prints about its own end.
    stderr: 'ignore',
  });
}
