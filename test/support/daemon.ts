import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { closeAtEnd } from './close-at-end.ts';

export const BIN = resolve(import.meta.dirname, '../../bin/agentd.js');

/** The options with which the second line of bin/agentd.js starts Node.js. */
export const LAUNCH_OPTIONS =
  /exec node (.*)-- "\$0"/.exec(readFileSync(BIN, 'utf8'))?.[1]?.trim().split(' ') ?? [];

/** At least 256 bits, as the settings require. */
export const SECRET = 'a-secret-for-tests-of-at-least-256-bits';

export interface DaemonOutput {
  /** The standard output so far: the banner. */
  stdout(): string;
  /** The standard error so far: the log lines, as JSON. */
  stderr(): string;
  log(): Record<string, unknown>[];
  /** Resolves with the first log line, past or future, that matches. */
  logged(match: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  /** Forgets the output so far, for the next test. */
  forget(): void;
}

export interface Agentd extends DaemonOutput {
  url: string;
  pid: number;
  directory: string;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM or the given signal, and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  exited: Promise<number | null>;
}

export interface StartOptions {
  env?: Record<string, string>;
  args?: string[];
  /** The working directory, with the state in `state`. Default: a new directory, which `stop` removes. */
  directory?: string;
  /** A command that runs the daemon under changed conditions, such as a limit. */
  under?: readonly string[];
  /** The program of a different build. */
  bin?: string;
  /** Whether later tests use the daemon, too. If not, a daemon that a test started ends with the test. */
  isKept?: boolean;
}

/** Settings of every test daemon. The settings of a test take precedence. */
export function baseEnv(directory: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: directory,
    STATE_DIR: join(directory, 'state'),
    PORT: '0',
    JWT_SECRET_KEY: SECRET,
    JWT_ALGORITHM: 'HS256',
    WEBCHAT_ENABLED: 'true',
    RATE_LIMIT_ANONYMOUS_MAX: '100000',
    RATE_LIMIT_TOKEN_MAX: '100000',
    LOOP_GUARD_ENABLED: 'false',
  };
}

/** Starts `bin/agentd.js serve` as a user would, and resolves when it is ready. It is killed at the end. */
export async function startAgentd(options: StartOptions = {}): Promise<Agentd> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'agentd-test-'));
  const daemon = [process.execPath, ...LAUNCH_OPTIONS, options.bin ?? BIN, 'serve', ...(options.args ?? [])];
  const [command = process.execPath, ...args] = [...(options.under ?? []), ...daemon];
  const child = execa(command, args, {
    cwd: directory,
    env: { ...baseEnv(directory), ...options.env },
    extendEnv: false,
    stdin: 'ignore',
    buffer: false,
    reject: false,
    // Never kills the daemon, which may need some time to stop.
    forceKillAfterDelay: false,
  });
  const output = watchOutput();
  child.stdout.setEncoding('utf8').on('data', output.write);
  child.stderr.setEncoding('utf8').on('data', output.writeError);
  const ended = async () => {
    const { exitCode = null } = await child;
    output.end(exitCode);
    return exitCode;
  };
  const exited = ended();
  if (!options.isKept) closeAtEnd(() => stop('SIGKILL'));
  async function stop(signal: NodeJS.Signals = 'SIGTERM') {
    child.kill(signal);
    const exitCode = await exited;
    if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
    return exitCode;
  }
  const url = await output.when((stdout) => /ready on (http:\S+)\n/.exec(stdout)?.[1]);
  return {
    url,
    pid: child.pid ?? 0,
    directory,
    ...output.output,
    signal: (signal) => void child.kill(signal),
    stop,
    exited,
  };
}

/** Collects the output of a daemon. */
export function watchOutput() {
  let stdout = '';
  let stderr = '';
  /** Undefined until the daemon has ended. */
  let code: number | null | undefined;
  const listeners = new Set<() => void>();
  const wake = () => {
    for (const listener of listeners) listener();
  };
  /** Resolves with what `found` finds first. */
  const when = <T>(found: (stdout: string) => T | undefined): Promise<T> =>
    new Promise((resolvePromise, reject) => {
      const check = () => {
        const result = found(stdout);
        if (result !== undefined) {
          listeners.delete(check);
          resolvePromise(result);
        } else if (code !== undefined) {
          listeners.delete(check);
          reject(new Error(`agentd ended (exit code ${code}):\n${stdout}\n${stderr}`));
        }
      };
      listeners.add(check);
      check();
    });
  const lines = () =>
    stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const output: DaemonOutput = {
    stdout: () => stdout,
    stderr: () => stderr,
    log: lines,
    logged: (match) => when(() => lines().find(match)),
    forget() {
      stdout = '';
      stderr = stderr.slice(stderr.lastIndexOf('\n') + 1);
    },
  };
  return {
    output,
    when,
    write(text: string) {
      stdout += text;
      wake();
    },
    writeError(text: string) {
      stderr += text;
      wake();
    },
    end(exitCode: number | null) {
      code = exitCode;
      wake();
    },
  };
}

/** Runs one command to its end. */
export async function agentd(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string; input?: string; base?: boolean } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const directory = options.cwd ?? tmpdir();
  const { exitCode, stdout, stderr } = await execa(process.execPath, [...LAUNCH_OPTIONS, BIN, ...args], {
    cwd: directory,
    env: {
      ...(options.base === false ? { PATH: process.env.PATH ?? '' } : baseEnv(directory)),
      ...options.env,
    },
    extendEnv: false,
    input: options.input ?? '',
    stripFinalNewline: false,
    reject: false,
  });
  return { code: exitCode ?? null, stdout, stderr };
}

/** The bytes of all these files, as one text to search in. */
export function readAll(paths: readonly string[]): string {
  return paths.map((path) => readFileSync(path, 'latin1')).join('\n');
}
