import { openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { type CliError, usageError } from '../cli-error.ts';
import { readToken, TOKEN_VISIBLE, type TokenInput } from '../terminal.ts';

export type ChatInput = TokenInput['stdin'];

/** The token of a chat, and the input from which its messages are read. */
interface ChatSession {
  token: string | null;
  input: ChatInput;
  /** Closes the terminal if it was opened. */
  close(): void;
}

interface ChatStreams extends TokenInput {
  /** Opens the terminal of the process, even if standard input is a pipe. Null if there is no terminal. */
  openTerminal(): ChatInput | null;
}

/**
 * Reads the token and finds the input for messages. Standard input can contain only one of the two: if the token is
 * piped in (`--token -`), messages are typed; if messages are piped in, the token is typed (`--token` without a value).
 *
 * @param option `--token`: absent, `true` (without a value), `-`, or the token
 * @throws CliError (2) if a terminal is needed and there is none
 */
export async function openChatSession(
  option: string | true | undefined,
  note: (text: string) => void,
  streams: ChatStreams = { stdin: process.stdin, stderr: process.stderr, openTerminal },
): Promise<ChatSession> {
  const { stdin, stderr } = streams;
  const close = () => undefined;
  if (option === undefined) return { token: null, input: stdin, close };
  const isAsked = option === true || option === '-';
  if (!isAsked || stdin.isTTY) {
    const warn = stdin.isTTY ? note : () => note(TOKEN_VISIBLE);
    const token = await readToken(isAsked ? undefined : option, warn, streams);
    return { token, input: stdin, close };
  }
  const terminal = streams.openTerminal();
  if (!terminal)
    throw noTerminal(
      option === '-'
        ? 'standard input cannot contain both the token and the messages, and there is no terminal to type on'
        : 'there is no terminal to ask for the token on',
    );
  const closeTerminal = () => void terminal.destroy();
  try {
    if (option === '-')
      return { token: await readToken('-', note, streams), input: terminal, close: closeTerminal };
    const token = await readToken(undefined, note, { stdin: terminal, stderr });
    closeTerminal();
    return { token, input: stdin, close };
  } catch (error) {
    closeTerminal();
    throw error;
  }
}

function openTerminal(): ReadStream | null {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'));
  } catch {
    // A service or a cron job has no terminal.
    return null;
  }
}

function noTerminal(message: string): CliError {
  return usageError(
    message,
    'Only `--token "$TOKEN"` works without a terminal. Other users of this machine can then see the token in the process list, so use one that expires soon.',
  );
}
