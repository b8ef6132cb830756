import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { execa, type ResultPromise } from 'execa';
import { onTestFinished } from 'vitest';

const OPTIONS = { stderr: 'inherit', buffer: false, reject: false } as const;

export interface Child {
  process: ResultPromise<typeof OPTIONS>;
  /** The output of the program, line by line. */
  lines: AsyncIterator<string>;
  /** Kills the program, as a crash would, and waits until it has ended. */
  kill(): Promise<void>;
}

/**
 * Runs a program of the folder `children` in a separate process, which is killed when the test has finished.
 * @param under a command that runs the program under changed conditions, such as a limit
 */
export function startChild(program: string, args: readonly string[], under: readonly string[] = []): Child {
  const path = fileURLToPath(new URL(`children/${program}`, import.meta.url));
  const [command = process.execPath, ...rest] = [...under, process.execPath, path, ...args];
  const child = execa(command, rest, OPTIONS);
  const kill = async () => {
    child.kill('SIGKILL');
    await child;
  };
  onTestFinished(kill);
  return { process: child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), kill };
}

/** The next line that a child prints. */
export async function nextLine(child: Child): Promise<string> {
  const { value, done } = await child.lines.next();
  if (done) throw new Error('the child ended without another line');
  return value;
}
