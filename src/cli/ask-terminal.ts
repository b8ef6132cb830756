import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

/**
 * Asks a question on a terminal and reads one line.
 * @param output where the question and the typed characters are shown
 * @returns null if the person leaves with Ctrl-C or Ctrl-D
 */
export async function askTerminal(
  question: string,
  input: Readable,
  output: Writable,
): Promise<string | null> {
  const reader = createInterface({ input, output, terminal: true });
  const closed = new AbortController();
  reader.on('close', () => closed.abort());
  try {
    return await reader.question(question, { signal: closed.signal });
  } catch (error) {
    if (closed.signal.aborted) return null;
    throw error;
  } finally {
    reader.close();
  }
}
