import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { BIN, LAUNCH_OPTIONS } from '../support/daemon.ts';
import { CAN_PIN } from './machine.ts';

/** Servers run on one core, the load on another. */
const CORES = { server: '0', load: '1' } as const;

export interface StartOptions {
  /** Pins the process to the core of this part. Absent: the system chooses the core. */
  part?: keyof typeof CORES;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** The file descriptor for its standard error. Absent: it shares the standard error of this process. */
  stderr?: number;
}

export interface Server {
  port: number;
  pid: number;
  /** Time from the start of the process to its line `… ready on http://…`, ms. */
  ready_ms: number;
  /** Stops the server, and resolves when it has ended. Rejects if it failed. */
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
// A signal would end this process without that event, and leave its programs running.
process.once('SIGTERM', () => process.exit(143));

/** Starts a Node.js program that prints `ready on http://<host>:<port>` when it listens. */
export async function startServer(program: readonly string[], options: StartOptions): Promise<Server> {
  const began = performance.now();
  const child = start(program, options, ['ignore', 'pipe', options.stderr ?? 'inherit']);
  const ended = once(child, 'close') as Promise<[code: number | null]>;
  if (!child.stdout) throw new Error('the standard output of the server is not a pipe');
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /ready on http:\/\/[^/]*:(\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    const ready_ms = performance.now() - began;
    child.stdout.resume();
    return {
      port: Number(port),
      pid: child.pid ?? 0,
      ready_ms,
      async stop() {
        child.kill('SIGTERM');
        const [code] = await ended;
        if (code !== 0) throw new Error(`${program.join(' ')} ended with ${code}`);
      },
    };
  }
  throw new Error(`${program.join(' ')} ended before it was ready`);
}

/** A program that has not answered an order after this time, in ms, is ended. */
const ANSWER_MS = 180_000;

/** Sends `order` to a Node.js program, which answers with one message and ends. */
export async function ask<Answer>(
  program: string,
  order: object,
  options: StartOptions = {},
): Promise<Answer> {
  const child = start([program], options, ['ignore', 'inherit', 'inherit', 'ipc'], ANSWER_MS);
  const ended = once(child, 'close') as Promise<[code: number | null]>;
  let answer: Answer | undefined;
  child.on('message', (message) => {
    answer = message as Answer;
  });
  child.send(order);
  const [code] = await ended;
  if (answer === undefined) throw new Error(`${program} ended with ${code} and without an answer`);
  return answer;
}

/** Runs a Node.js program to its end. @returns how long it took, ms. */
export async function timeRun(program: readonly string[]): Promise<number> {
  const began = performance.now();
  const child = start(program, {}, ['ignore', 'ignore', 'inherit']);
  const [code] = (await once(child, 'exit')) as [number | null];
  const took = performance.now() - began;
  if (code !== 0) throw new Error(`${program.join(' ')} ended with ${code}`);
  return took;
}

/**
 * The environment that programs inherit. It has a compile cache only if this process has one. Without that, programs
 * start as they do on users' machines: agentd keeps its own compiled code.
 */
const PASSED_ON = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

/** The daemon, with the options of Node.js that a user's start has. */
export const DAEMON = [...LAUNCH_OPTIONS, BIN, 'serve'];

function start(
  program: readonly string[],
  { part, cwd, env }: StartOptions,
  stdio: ('ignore' | 'inherit' | 'pipe' | 'ipc' | number)[],
  timeout?: number,
): ChildProcess {
  const pin = part !== undefined && CAN_PIN ? ['taskset', '-c', CORES[part]] : [];
  const [command = '', ...args] = [...pin, process.execPath, ...program];
  const child = spawn(command, args, {
    stdio,
    ...(timeout === undefined ? {} : { timeout }),
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...PASSED_ON, ...env },
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}
