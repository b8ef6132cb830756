import { openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { readToken, type TokenInput } from '../read-token.ts';

export type ChatInput = TokenInput['stdin'];

/** What a conversation is held with. */
export interface Speaker {
  token: string | null;
  /** Where the messages come from. */
  input: ChatInput;
  /** Gives back what was opened. */
  close(): void;
}

export interface Inputs extends TokenInput {
  /** The terminal that the process belongs to, whatever its standard input is; null: there is none. */
  openTerminal(): (Readable & { isTTY?: boolean }) | null;
}

/**
 * The token, and where the messages come from. Standard input can be one of the two only: where a token is
 * piped in (`-`), the messages are typed; where messages are piped in, the token is (`--token` alone).
 *
 * @param option `--token`: absent, `true` (without a value), `-`, or the token
 * @throws CliError (2) where there is no terminal for the other one
 */
export async function readSpeaker(
  option: unknown,
  note: (text: string) => void,
  inputs: Inputs = { stdin: process.stdin, stderr: process.stderr, openTerminal },
): Promise<Speaker> {
  const { stdin, stderr } = inputs;
  const close = () => undefined;
  if (option === undefined) return { token: null, input: stdin, close };
  const ask = option === true || option === '-';
  if (!ask || stdin.isTTY) {
    const token = await readToken(ask ? undefined : String(option), note, inputs);
    return { token, input: stdin, close };
  }
  const terminal = inputs.openTerminal();
  if (!terminal) throw option === '-' ? noWords() : noPrompt();
  const leave = () => void terminal.destroy();
  try {
    if (option === '-') return { token: await readToken('-', note, inputs), input: terminal, close: leave };
    const token = await readToken(undefined, note, { stdin: terminal, stderr });
    leave();
    return { token, input: stdin, close };
  } catch (error) {
    leave();
    throw error;
  }
}

function openTerminal(): ReadStream | null {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'));
  } catch {
    // A service, a cron job: nobody sits there.
    return null;
  }
}

function noWords(): CliError {
  return new CliError(
    EXIT.usage,
    'standard input cannot hold both the token and the messages, and there is no terminal to type on',
    'In a script give the token as the argument: `--token "$TOKEN"`.',
  );
}

function noPrompt(): CliError {
  return new CliError(
    EXIT.usage,
    'there is no terminal to ask for the token on',
    'In a script give the token as the argument: `--token "$TOKEN"`.',
  );
}
