import type { Readable } from 'node:stream';
import { CliError, usageError } from '../cli-error.ts';
import { EXIT } from '../exit-codes.ts';
import type { Sink } from '../output.ts';
import { explainError } from '../report-error.ts';
import type { Conversation, Interrupts } from './conversation.ts';
import { Prompt } from './prompt.ts';
import type { Screen } from './screen.ts';
import { streamAnswer } from './stream-answer.ts';

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
