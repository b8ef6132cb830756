import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

/** Where the answer comes from: `process`, or what a test hands in. */
export interface Questioned {
  stdin: Readable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
}

/**
 * Asks the person at the terminal; anything but `y` or `yes` is no.
 * @returns null where nobody sits at one: standard input or error is a file or a pipe.
 */
export async function confirm(
  question: string,
  { stdin, stderr }: Questioned = process,
): Promise<boolean | null> {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  const reader = createInterface({ input: stdin, output: stderr });
  const leave = new AbortController();
  reader.on('close', () => leave.abort());
  try {
    const answer = await reader.question(`${question} [y/N] `, { signal: leave.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    // Ctrl-C and Ctrl-D close the reader: no answer is no.
    if (leave.signal.aborted) return false;
    throw error;
  } finally {
    reader.close();
  }
}
