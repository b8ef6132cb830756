import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { onTestFinished } from 'vitest';

export interface Child {
  /** The output of the program, line by line. */
  lines: AsyncIterator<string>;
  /** Kills the program, as a crash would, and waits until it has ended. */
  kill(): Promise<void>;
}

/** Runs a program of the folder `children` in a separate process, which is killed when the test has finished. */
export function startChild(program: string, args: readonly string[]): Child {
  const path = fileURLToPath(new URL(`children/${program}`, import.meta.url));
  const child = execa(process.execPath, [path, ...args], { stderr: 'inherit', buffer: false, reject: false });
  const kill = async () => {
    child.kill('SIGKILL');
    await child;
  };
  onTestFinished(kill);
  return { lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), kill };
}

/** The next line that a child prints. */
export async function nextLine(child: Child): Promise<string> {
  const { value, done } = await child.lines.next();
  if (done) throw new Error('the child ended without another line');
  return value;
}
