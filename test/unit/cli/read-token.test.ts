import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readToken, type TokenInput } from '../../../src/cli/terminal.ts';

function inputOf(stdin: TokenInput['stdin']) {
  const shown: string[] = [];
  const notes: string[] = [];
  const input: TokenInput = { stdin, stderr: { write: (text) => shown.push(text) } };
  return {
    shown,
    notes,
    read: (argument?: string) => readToken(argument, (text) => notes.push(text), input),
  };
}

const piped = (...chunks: (string | Buffer)[]) => inputOf(Readable.from(chunks));

function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  return { stdin, ...inputOf(stdin) };
}

describe('the token for a command', () => {
  it('is read from standard input if the argument is `-`, without the white space around it', async () => {
    const { read, notes } = piped(' aaa.', 'bbb', '.ccc\n');
    expect(await read('-')).toBe('aaa.bbb.ccc');
    expect(notes).toEqual([]);
  });

  it('is read without `Bearer` before it, and a note says so', async () => {
    const { read, notes } = piped('Bearer aaa.bbb.ccc\n');
    expect(await read('-')).toBe('aaa.bbb.ccc');
    expect(notes).toEqual(['The word `Bearer` before the token is not part of it, and was left out.']);
  });

  it('is read from standard input if input is piped in and there is no argument', async () => {
    expect(await piped('aaa.bbb.ccc').read()).toBe('aaa.bbb.ccc');
  });

  it('may be the argument, which causes a warning that does not contain the token', async () => {
    const { read, notes } = piped();
    expect(await read('aaa.bbb.ccc')).toBe('aaa.bbb.ccc');
    expect(notes).toEqual([
      'warning: a token in the arguments is visible in the process list and the shell history; use `-` and pipe the token in',
    ]);
  });

  it('is requested on the terminal, without echo', async () => {
    const { stdin, shown, read } = terminal();
    const token = read();
    stdin.write('aaa.bbX\u{7f}b.ccc\r');
    expect(await token).toBe('aaa.bbb.ccc');
    expect(shown).toEqual(['Token (not shown): ', '\n']);
  });

  it.each([
    ['Ctrl-C', '\u{3}'],
    ['Ctrl-D', '\u{4}'],
    ['empty', '\r'],
  ])('is missing if the answer to the prompt is %s, which is wrong usage', async (_what, typed) => {
    const { stdin, read } = terminal();
    const token = read();
    stdin.write(typed);
    await expect(token).rejects.toMatchObject({
      name: 'CliError',
      exitCode: 2,
      message: 'no token was given',
    });
  });

  it.each([
    ['empty', ''],
    ['only white space', ' \n'],
  ])('is missing if standard input is %s', async (_what, text) => {
    await expect(piped(text).read('-')).rejects.toMatchObject({ exitCode: 2, message: 'no token was given' });
  });

  it('is refused if standard input does not end', async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(16_384, 'a');
      })(),
    );
    await expect(inputOf(endless).read('-')).rejects.toMatchObject({
      exitCode: 2,
      message: 'standard input has more than 65536 bytes, so it is not a token',
    });
  });
});
