import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { printableLines } from '../daemon/admin/texts.ts';
import { failed, usageError } from './cli-error.ts';
import type { Sink } from './output.ts';
import { readBounded } from './running-daemon.ts';

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

/** A terminal for readline that shows nothing while it is muted. */
export class MutedOutput extends Writable {
  readonly isTTY = true;
  isMuted = true;
  readonly #terminal: Sink;

  constructor(terminal: Sink) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    if (!this.isMuted) this.#terminal.write(String(text));
    done();
  }
}

/** The terminal to ask on: the terminal of this process, or a fake in a test. */
interface ConfirmTerminal {
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

/**
 * Asks the person at the terminal to agree.
 * @param words.unasked what would be done, and how to agree without being asked: the error if there is no terminal
 * @param words.declined the error if the answer is no
 * @throws CliError (2) or (1) with one of these errors
 */
export async function expectConsent(
  question: string,
  words: { unasked: readonly [message: string, advice: string]; declined: string },
): Promise<void> {
  const answer = await confirm(question);
  if (answer === null) throw usageError(...words.unasked);
  if (!answer) throw failed(words.declined);
}

/** The warning for a command that reads something other than the token from standard input. */
export const TOKEN_VISIBLE =
  'warning: a token in the arguments is visible in the process list and the shell history';
export const TOKEN_SHOWS = `${TOKEN_VISIBLE}; use \`-\` and pipe the token in`;

/** Maximum number of bytes that are read from standard input. A token has at most 8192 characters. */
const INPUT_MAX = 65_536;

/** Where a token is read from: `process`, or the streams of a test. */
export interface TokenInput {
  stdin: Readable & { isTTY?: boolean };
  stderr: { write(text: string): unknown };
}

/**
 * Reads a token: from standard input if the argument is `-` or input is piped in, from a prompt without echo on a
 * terminal, or from the argument itself, with a warning. White space around the token is dropped, and so is `Bearer`
 * before it: people paste the whole header.
 *
 * @param note prints a line for the person
 * @throws CliError (2) if there is no token
 */
export async function readToken(
  argument: string | undefined,
  note: (text: string) => void,
  input: TokenInput = process,
): Promise<string> {
  const token = tokenIn(await readText(argument, note, input), note);
  if (token !== '') return token;
  throw usageError('no token was given', 'Pipe the token in and pass `-`, or type it at the prompt.');
}

/** The token in what a person has given. Empty if there is none. */
export function tokenIn(text: string, note: (text: string) => void): string {
  const given = text.trim();
  const token = given.replace(/^bearer(?:\s+|$)/i, '');
  if (token !== given) note('The word `Bearer` before the token is not part of it, and was left out.');
  return token;
}

async function readText(
  argument: string | undefined,
  note: (text: string) => void,
  { stdin, stderr }: TokenInput,
): Promise<string> {
  if (argument !== undefined && argument !== '-') {
    note(TOKEN_SHOWS);
    return argument;
  }
  if (argument === undefined && stdin.isTTY) return prompt(stdin, stderr);
  try {
    return (await readBounded(stdin, INPUT_MAX)).toString('utf8');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw usageError(`standard input has more than ${INPUT_MAX} bytes, so it is not a token`);
  }
}

async function prompt(stdin: Readable, stderr: TokenInput['stderr']): Promise<string> {
  // Echo is off before the prompt appears.
  const answer = askTerminal('', stdin, new MutedOutput(stderr));
  stderr.write('Token (not shown): ');
  const token = await answer;
  stderr.write('\n');
  return token ?? '';
}
