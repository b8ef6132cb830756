import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ChatView } from '../../../../src/cli/chat/chat-view.ts';
import { type ChatInput, openChatSession } from '../../../../src/cli/chat/open-chat-session.ts';
import type { Prompt } from '../../../../src/cli/chat/prompt.ts';
import { readLines, talk } from '../../../../src/cli/chat/talk.ts';
import { failed } from '../../../../src/cli/cli-error.ts';

function sessionWith(stdin: ChatInput, terminal: ChatInput | null) {
  const notes: string[] = [];
  const shown: string[] = [];
  return {
    notes,
    shown,
    open: (option?: string | true) =>
      openChatSession(option, (text) => notes.push(text), {
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

describe('a chat session', () => {
  it('reads messages from standard input if it needs no token', async () => {
    const stdin = piped('hello\n');
    expect(await sessionWith(stdin, null).open(undefined)).toMatchObject({ token: null, input: stdin });
  });

  it('uses a token in the arguments, with a warning', async () => {
    const stdin = piped('hello\n');
    const { open, notes } = sessionWith(stdin, null);
    expect(await open('a.b.c')).toMatchObject({ token: 'a.b.c', input: stdin });
    // Standard input contains the messages, so the warning does not suggest piping the token in.
    expect(notes.join()).toMatch(/is visible in the process list and the shell history$/);
    const typed = sessionWith(terminal(), null);
    await typed.open('a.b.c');
    expect(typed.notes.join()).toMatch(/use `-` and pipe the token in$/);
  });

  it('reads the token from standard input, and the messages from the terminal', async () => {
    const tty = terminal();
    const { token, input, close } = await sessionWith(piped('a.b.c\n'), tty).open('-');
    expect([token, input]).toEqual(['a.b.c', tty]);
    close();
    expect(tty.destroyed).toBe(true);
  });

  it('asks for the token on the terminal, and reads the messages from standard input', async () => {
    const [stdin, tty] = [piped('hello\n'), terminal()];
    const { open, shown } = sessionWith(stdin, tty);
    const session = open(true);
    tty.write('a.b.c\r');
    expect(await session).toMatchObject({ token: 'a.b.c', input: stdin });
    expect(shown).toEqual(['Token (not shown): ', '\n']);
    expect(tty.destroyed).toBe(true);
  });

  it.each([true, '-'] as const)(
    'asks for the token on the terminal if the messages also come from there (%s)',
    async (option) => {
      const stdin = terminal();
      const session = sessionWith(stdin, null).open(option);
      stdin.write('a.b.c\r');
      expect(await session).toMatchObject({ token: 'a.b.c', input: stdin });
    },
  );

  it.each([
    ['-', 'standard input cannot contain both the token and the messages'],
    [true, 'there is no terminal to ask for the token on'],
  ] as const)('fails if it needs a terminal and there is none (%s)', async (option, message) => {
    await expect(sessionWith(piped('a.b.c\n'), null).open(option)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message),
    });
  });
});

describe('the lines of an input', () => {
  const linesOf = (...chunks: (string | Buffer)[]) => all(readLines(Readable.from(chunks)));

  it('are the same, wherever the chunks of the input begin', async () => {
    const text = Buffer.from('Größe?\r\n\nlast');
    for (let cut = 0; cut <= text.length; cut++) {
      expect(await linesOf(text.subarray(0, cut), text.subarray(cut))).toEqual(['Größe?', '', 'last']);
    }
  });

  it('have a maximum length, beyond which reading fails', async () => {
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

describe('a chat on a terminal', () => {
  /** Types these lines; returns what was sent, what was done, and what was noted. */
  async function typed(lines: readonly string[], session_id: string | null = 's1') {
    const done: string[] = [];
    const conversation = {
      session_id,
      question: null,
      restart: () => done.push('restart'),
      send: async (message: string) => {
        done.push(`send ${message}`);
        return { session_id: 's1', response: '', stopped: false };
      },
    };
    const rest = [...lines];
    const prompt = {
      line: async () => rest.shift() ?? null,
      secret: async () => rest.shift() ?? null,
      close: () => done.push('close'),
    };
    const notes: string[] = [];
    const view = { status() {}, text() {}, endAnswer() {}, note: (text: string) => notes.push(text) };
    const code = await talk(
      conversation as unknown as Parameters<typeof talk>[0],
      view as unknown as ChatView,
      prompt as unknown as Prompt,
      {
        async signIn(token) {
          done.push(`sign in ${token}`);
        },
        async explain(id) {
          done.push(`explain ${id}`);
          throw failed('nothing is known', 'Look elsewhere.');
        },
      },
    );
    return { code, done, notes };
  }

  it('carries out commands, and sends everything else', async () => {
    const { code, done, notes } = await typed([
      'hello',
      '/new',
      ' /new',
      '/sign-in',
      'a.b.c',
      '/explain',
      '/help',
      '/quit',
      'never',
    ]);
    expect([code, done]).toEqual([
      0,
      ['send hello', 'restart', 'send /new', 'sign in a.b.c', 'explain s1', 'close'],
    ]);
    expect(notes).toEqual([
      'This is a new conversation.',
      'agentd: nothing is known\nLook elsewhere.',
      expect.stringContaining('/sign-in'),
    ]);
  });

  it('explains nothing before the first answer', async () => {
    expect((await typed(['/explain'], null)).notes).toEqual(['There is no answer to explain yet.']);
  });
});
