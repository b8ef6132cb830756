import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { baseEnv } from './daemon.ts';

const built = createRequire(import.meta.url);

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** What is piped in. */
  input?: string;
  /** False: without the settings that every test daemon has. */
  base?: boolean;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs one command of the build to its end as `agentd` (daemon.ts) does, but within this process: for tests of
 * what many commands say, each of which would otherwise spend most of its time on its start. One runs at a
 * time, since environment, directory and standard input are this process's own.
 */
export function command(args: string[], options: CommandOptions = {}): Promise<Ended> {
  const ended = last.then(() => runHere(args, options));
  last = ended.catch(() => undefined);
  return ended;
}

async function runHere(
  args: string[],
  { env = {}, cwd = tmpdir(), input = '', base = true }: CommandOptions,
): Promise<Ended> {
  const { runProgram } = built('../../dist/src/cli/program.js') as typeof import('../../src/cli/program.ts');
  const before = { env: { ...process.env }, cwd: process.cwd(), stdin: stdinOf(process) };
  const [stdout, stderr] = [collector(), collector()];
  try {
    const stdin = { value: Readable.from([Buffer.from(input)]), configurable: true, enumerable: true };
    become({ env: { ...(base ? baseEnv(cwd) : {}), ...env }, cwd, stdin });
    const code = await runProgram(args, { stdout, stderr, cwd: '.' });
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    become(before);
  }
}

interface Surroundings {
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdin: PropertyDescriptor;
}

function become({ env, cwd, stdin }: Surroundings): void {
  // The variables themselves, since libraries in C look at them too.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  Object.defineProperty(process, 'stdin', stdin);
}

/** The property, not its value: a look at that would open the input of this process. */
function stdinOf(holder: object): PropertyDescriptor {
  const stdin = Object.getOwnPropertyDescriptor(holder, 'stdin');
  if (!stdin) throw new Error('the process has no standard input');
  return stdin;
}

function collector(): { text: string; write(text: string): boolean } {
  return {
    text: '',
    write(text) {
      this.text += text;
      return true;
    },
  };
}
