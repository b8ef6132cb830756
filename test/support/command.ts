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
  /** The text on standard input. */
  input?: string;
  /** False if the command does not get the settings that every test daemon has. */
  base?: boolean;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs one command of the built agentd to its end, like the function `agentd` in daemon.ts, but within this process.
 * Tests that run many commands use it, because a separate process would spend most of its time starting. Only one
 * command runs at a time, because commands share the environment, the directory and the standard input of this process.
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
  // Changes the variables of the process in place, because C libraries read them too.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  Object.defineProperty(process, 'stdin', stdin);
}

/** The property `stdin` of the holder. Reading its value instead would open the input of this process. */
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
