import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readSpeaker } from '../../../../src/cli/chat/input.ts';
import { readLines } from '../../../../src/cli/chat/read-lines.ts';

function inputs(stdin: Readable & { isTTY?: boolean }, terminal: (Readable & { isTTY?: boolean }) | null) {
  const notes: string[] = [];
  const shown: string[] = [];
  return {
    notes,
    shown,
    read: (option: unknown) =>
      readSpeaker(option, (text) => notes.push(text), {
        stdin,
        stderr: { write: (text) => shown.push(text) },
        openTerminal: () => terminal,
      }),
  };
}

const piped = (text: string) => Readable.from([text]);
const terminal = () => Object.assign(new PassThrough(), { isTTY: true });

async function all<T>(items: AsyncIterable<T> | null): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items ?? []) found.push(item);
  return found;
}

describe('who speaks, and from where', () => {
  it('is nobody, from standard input', async () => {
    const stdin = piped('hello\n');
    expect(await inputs(stdin, null).read(undefined)).toMatchObject({ token: null, input: stdin });
  });

  it('is the token of the argument, with a warning', async () => {
    const stdin = piped('hello\n');
    const { read, notes } = inputs(stdin, null);
    expect(await read('a.b.c')).toMatchObject({ token: 'a.b.c', input: stdin });
    expect(notes.join()).toContain('shows in the process list');
  });

  it('is the token that is piped in, and the messages are typed', async () => {
    const tty = terminal();
    const { token, input, close } = await inputs(piped('a.b.c\n'), tty).read('-');
    expect([token, input]).toEqual(['a.b.c', tty]);
    close();
    expect(tty.destroyed).toBe(true);
  });

  it('is the token that is asked for, and the messages are piped in', async () => {
    const [stdin, tty] = [piped('hello\n'), terminal()];
    const { read, shown } = inputs(stdin, tty);
    const speaker = read(true);
    tty.write('a.b.c\r');
    expect(await speaker).toMatchObject({ token: 'a.b.c', input: stdin });
    expect(shown).toEqual(['Token (not shown): ', '\n']);
    expect(tty.destroyed).toBe(true);
  });

  it.each([true, '-'])('is asked for where both are typed (%s)', async (option) => {
    const stdin = terminal();
    const speaker = inputs(stdin, null).read(option);
    stdin.write('a.b.c\r');
    expect(await speaker).toMatchObject({ token: 'a.b.c', input: stdin });
  });

  it.each([
    ['-', 'standard input cannot hold both the token and the messages'],
    [true, 'there is no terminal to ask for the token on'],
  ])('cannot be told without a terminal (%s)', async (option, message) => {
    await expect(inputs(piped('a.b.c\n'), null).read(option)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message),
    });
  });
});

describe('the lines of an input', () => {
  const linesOf = (...chunks: (string | Buffer)[]) => all(readLines(Readable.from(chunks)));

  it('are the same wherever it is cut', async () => {
    const text = Buffer.from('Größe?\r\n\nlast');
    for (let cut = 0; cut <= text.length; cut++) {
      expect(await linesOf(text.subarray(0, cut), text.subarray(cut))).toEqual(['Größe?', '', 'last']);
    }
  });

  it('are bounded', async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(16_384, 'a');
      })(),
    );
    await expect(all(readLines(endless))).rejects.toMatchObject({
      exitCode: 2,
      message: 'a line of standard input is longer than 262144 characters',
    });
  });
});
