import type { Readable, Writable } from 'node:stream';
import { printableLines } from '../daemon/admin/texts.ts';
import { askTerminal } from './ask-terminal.ts';

/** The terminal to ask on: the terminal of this process, or a fake in a test. */
export interface ConfirmTerminal {
  stdin: Readable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
}

/**
 * Asks the person at the terminal a question; any answer but `y` or `yes` is no.
 * @returns null if standard input or error is not a terminal
 */
export async function confirm(
  question: string,
  { stdin, stderr }: ConfirmTerminal = process,
): Promise<boolean | null> {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  const answer = await askTerminal(`${printableLines(question)} [y/N] `, stdin, stderr);
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
