import { openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import type { ActionReceipt, ConfirmableAction } from '../../channel/index.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Sink } from '../output.ts';
import { explainError } from '../report-error.ts';
import { readToken, TOKEN_VISIBLE, type TokenInput } from '../terminal.ts';
import type { Conversation, Interrupts } from './conversation.ts';
import { Prompt, type Screen } from './screen.ts';

/**
 * Asks for messages on a terminal until the person leaves. Ctrl-C stops an answer, a second Ctrl-C leaves at once. A
 * failure is shown, and the next message is asked for.
 * @returns the exit code
 */
export async function talk(
  conversation: Conversation,
  screen: Screen,
  input: Readable,
  terminal: Sink,
): Promise<number> {
  const prompt = new Prompt(input, terminal);
  try {
    for (;;) {
      const line = await prompt.line();
      if (line === null) return EXIT.ok;
      if (line.trim() === '') continue;
      const { interrupts, interrupt } = createInterrupts();
      prompt.interrupted = interrupt;
      const failed = await answer(conversation, line, screen, interrupts);
      if (interrupts.leave.aborted) return EXIT.ok;
      if (failed) showError(failed, screen);
    }
  } finally {
    prompt.close();
  }
}

/**
 * Answers each line of an input, in order. A failure is shown on standard error, and the next line is answered. Stops
 * early only for Ctrl-C, or if the daemon cannot be reached.
 * @returns the exit code: 1 if an answer failed or was stopped
 */
export async function answerLines(
  conversation: Conversation,
  screen: Screen,
  input: AsyncIterable<Uint8Array | string>,
): Promise<number> {
  let code: number = EXIT.ok;
  for await (const line of readLines(input)) {
    if (line.trim() === '') continue;
    const { interrupts, interrupt } = createInterrupts();
    process.on('SIGINT', interrupt);
    const failed = await answer(conversation, line, screen, interrupts).finally(() =>
      process.off('SIGINT', interrupt),
    );
    if (interrupts.stop.aborted) return EXIT.no;
    if (!failed) continue;
    showError(failed, screen);
    if (failed.exitCode === EXIT.unavailable) return EXIT.unavailable;
    code = EXIT.no;
  }
  return code;
}

/** @returns why the answer is not complete; null if it is complete or was stopped */
async function answer(
  conversation: Conversation,
  line: string,
  screen: Screen,
  interrupts: Interrupts,
): Promise<CliError | null> {
  try {
    const { stopped } = await streamAnswer(conversation, line.trim(), screen, interrupts);
    if (stopped) screen.note('(stopped)');
    return null;
  } catch (error) {
    if (interrupts.leave.aborted) return null;
    if (error instanceof CliError) return error;
    throw error;
  }
}

function showError(error: CliError, screen: Screen): void {
  const { message, advice } = explainError(error);
  screen.note([`agentd: ${message}`, advice].filter(Boolean).join('\n'));
}

/** The first interrupt stops the answer, the second one leaves. */
function createInterrupts(): { interrupts: Interrupts; interrupt(): void } {
  const [stop, leave] = [new AbortController(), new AbortController()];
  return {
    interrupts: { stop: stop.signal, leave: leave.signal },
    interrupt: () => (stop.signal.aborted ? leave.abort() : stop.abort()),
  };
}

/** Longest line, in characters: longer than any message may be. */
const LINE_MAX = 262_144;

/**
 * The lines of an input, each as soon as it has arrived. The last line needs no line end.
 * @throws CliError (2) if a line is too long
 */
export async function* readLines(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.map((line) => line.replace(/\r$/, ''));
    if (rest.length > LINE_MAX)
      throw usageError(`a line of standard input is longer than ${LINE_MAX} characters`);
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

const WAITING = 'Waiting for the answer…';

/**
 * Sends a message and shows its answer while it arrives.
 * @throws the errors of `Conversation.send`, after the text that has arrived is shown
 */
async function streamAnswer(
  conversation: Conversation,
  message: string,
  screen: Screen,
  interrupts: Interrupts,
): Promise<{ stopped: boolean }> {
  let shown = '';
  let status = WAITING;
  let asked: readonly AskedAction[] = [];
  let done: readonly string[] = [];
  screen.status(status);
  try {
    const { response, stopped } = await conversation.send(
      message,
      {
        started: () => undefined,
        text(piece) {
          shown += piece;
          screen.text(piece);
        },
        tool(name, state) {
          status = state === 'started' ? `${name}…` : WAITING;
          if (state === 'failed') screen.note(`${name} failed`);
          screen.status(status);
        },
        confirmation(_id, { actions }) {
          asked = Array.isArray(actions) ? actions : [{}];
        },
        actions(data) {
          // Usually, the answer ends with a line for each of them.
          if (data.begins_at === undefined) done = actionsInWords(data.actions);
        },
        connected: (yes) => screen.status(yes ? status : 'Connection lost. Trying again…'),
      },
      interrupts,
    );
    // If the message had been answered before, the whole answer arrives in one piece, with the last event.
    if (response.startsWith(shown)) screen.text(response.slice(shown.length));
    return { stopped };
  } finally {
    screen.endAnswer();
    for (const line of done) screen.note(line);
    if (asked.length > 0) screen.note(howToAnswer(asked));
  }
}

/** An action of a question. A later version of the daemon may send something else. */
type AskedAction = Partial<ConfirmableAction> | null;

function howToAnswer([first, ...others]: readonly AskedAction[]): string {
  if (others.length > 0) return 'You can also answer with y or n for all of them.';
  const { confirm_label } = first ?? {};
  const yes = typeof confirm_label === 'string' ? `y (${confirm_label})` : 'y';
  return `You can also answer with ${yes} or n.`;
}

/** A line for each action of the event `actions`. A later version of the daemon may send something else. */
function actionsInWords(actions: unknown): string[] {
  if (!Array.isArray(actions)) return [];
  return actions.map((action: Partial<ActionReceipt> | null) => {
    const { summary = '', outcome = '', status } = action ?? {};
    return `${summary}: ${outcome}${status === undefined ? '' : ` (status ${status})`}`;
  });
}

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
  option: unknown,
  note: (text: string) => void,
  streams: ChatStreams = { stdin: process.stdin, stderr: process.stderr, openTerminal },
): Promise<ChatSession> {
  const { stdin, stderr } = streams;
  const close = () => undefined;
  if (option === undefined) return { token: null, input: stdin, close };
  const isAsked = option === true || option === '-';
  if (!isAsked || stdin.isTTY) {
    const warn = stdin.isTTY ? note : () => note(TOKEN_VISIBLE);
    const token = await readToken(isAsked ? undefined : String(option), warn, streams);
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
