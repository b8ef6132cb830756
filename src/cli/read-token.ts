import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';

export const TOKEN_SHOWS =
  'warning: a token in the arguments shows in the process list and the shell history; give `-` and pipe it in';

/** Bytes of standard input that are read; a token has 8192 characters at most. */
const INPUT_MAX = 65_536;

/** Where a token may come from: `process`, or what a test hands in. */
export interface TokenInput {
  stdin: Readable & { isTTY?: boolean };
  stderr: { write(text: string): unknown };
}

/**
 * The token that a command is about (cli.md): of standard input where the argument is `-` or something is
 * piped in, of a prompt without echo on a terminal, or the argument itself, with a warning. White space
 * around it is dropped.
 *
 * @param note writes a line for the person.
 * @throws CliError (2) where there is none.
 */
export async function readToken(
  argument: string | undefined,
  note: (text: string) => void,
  input: TokenInput = process,
): Promise<string> {
  const token = (await readText(argument, note, input)).trim();
  if (token !== '') return token;
  throw new CliError(EXIT.usage, 'no token was given', 'Pipe it in and give `-`, or type it at the prompt.');
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
  return readAll(stdin);
}

async function readAll(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > INPUT_MAX)
      throw new CliError(EXIT.usage, `standard input holds more than ${INPUT_MAX} bytes: no token`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What is typed goes into an output that shows nothing. */
async function prompt(stdin: Readable, stderr: TokenInput['stderr']): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true });
  const leave = new AbortController();
  reader.on('close', () => leave.abort());
  stderr.write('Token (not shown): ');
  try {
    return await reader.question('', { signal: leave.signal });
  } catch (cause) {
    if (leave.signal.aborted) throw new CliError(EXIT.usage, 'no token was given', undefined, { cause });
    throw cause;
  } finally {
    reader.close();
    stderr.write('\n');
  }
}
