import { readReceipts, toolNameInWords } from '../../channel/event-stream.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import { explainError } from '../report-error.ts';
import type { ChatView } from './chat-view.ts';
import type { Conversation, Interrupts } from './conversation.ts';
import type { Prompt } from './prompt.ts';
import { type Question, questionIn, timeLeft } from './question.ts';
import { type SlashCommand, slashCommandIn, slashCommandsInWords } from './slash-commands.ts';

/** What a chat on a terminal needs besides the conversation, for its commands. */
interface TalkActions {
  /** Signs in with a token from the next message on. Null if the person has given none. */
  signIn(token: string | null): Promise<void>;
  /** Shows why the last message of the session got its answer. */
  explain(session_id: string): Promise<void>;
}

/**
 * Asks for messages on a terminal until the person leaves. Ctrl-C stops an answer, a second Ctrl-C leaves at once. A
 * failure is shown, and the next message is asked for.
 * @returns the exit code
 */
export async function talk(
  conversation: Conversation,
  view: ChatView,
  prompt: Prompt,
  actions: TalkActions,
): Promise<number> {
  try {
    for (;;) {
      const line = await prompt.line(() => promptLabel(conversation.question));
      if (line === null) return EXIT.ok;
      if (line.trim() === '') continue;
      const slash = slashCommandIn(line);
      if (slash && 'note' in slash) view.note(slash.note);
      else if (slash?.command === '/quit') return EXIT.ok;
      else if (slash) await carryOut(slash.command, conversation, view, prompt, actions);
      else if (await answerOne(conversation, view, prompt, line)) return EXIT.ok;
    }
  } finally {
    prompt.close();
  }
}

/** Before the line of the person: whether a question is open and, if it ends soon, for how long. */
function promptLabel(question: Question | null): string {
  if (question === null) return '› ';
  const left = timeLeft(question, Date.now());
  return `y/n${left === null ? '' : `, ${left}`} › `;
}

/** @returns whether the person left the chat */
async function answerOne(
  conversation: Conversation,
  view: ChatView,
  prompt: Prompt,
  line: string,
): Promise<boolean> {
  const { interrupts, interrupt } = createInterrupts();
  prompt.interrupted = interrupt;
  const failed = await answer(conversation, line, view, interrupts);
  if (failed && !interrupts.leave.aborted) showError(failed, view);
  return interrupts.leave.aborted;
}

async function carryOut(
  command: Exclude<SlashCommand, '/quit'>,
  conversation: Conversation,
  view: ChatView,
  prompt: Prompt,
  { signIn, explain }: TalkActions,
): Promise<void> {
  switch (command) {
    case '/help':
      view.note(slashCommandsInWords());
      return;
    case '/new':
      conversation.restart();
      view.note('This is a new conversation.');
      return;
    case '/sign-in':
      await signIn(await prompt.secret('Token (not shown): '));
      return;
    case '/explain':
      if (conversation.session_id === null) view.note('There is no answer to explain yet.');
      else
        await explain(conversation.session_id).catch((error: unknown) => {
          if (!(error instanceof Error)) throw error;
          showError(error, view);
        });
  }
}

/**
 * Answers each line of an input, in order. A failure is shown on standard error, and the next line is answered. Stops
 * early only for Ctrl-C, or if the daemon cannot be reached.
 * @returns the exit code: 1 if an answer failed or was stopped
 */
export async function answerLines(
  conversation: Conversation,
  view: ChatView,
  input: AsyncIterable<Uint8Array | string>,
): Promise<number> {
  let code: number = EXIT.ok;
  for await (const line of readLines(input)) {
    if (line.trim() === '') continue;
    const { interrupts, interrupt } = createInterrupts();
    process.on('SIGINT', interrupt);
    const failed = await answer(conversation, line, view, interrupts).finally(() =>
      process.off('SIGINT', interrupt),
    );
    if (interrupts.stop.aborted) return EXIT.no;
    if (!failed) continue;
    showError(failed, view);
    if (failed.exitCode === EXIT.unavailable) return EXIT.unavailable;
    code = EXIT.no;
  }
  return code;
}

/** @returns why the answer is not complete; null if it is complete or was stopped */
async function answer(
  conversation: Conversation,
  line: string,
  view: ChatView,
  interrupts: Interrupts,
): Promise<CliError | null> {
  try {
    const { stopped } = await streamAnswer(conversation, line.trim(), view, interrupts);
    if (stopped) view.note('(stopped)');
    return null;
  } catch (error) {
    if (interrupts.leave.aborted) return null;
    if (error instanceof CliError) return error;
    throw error;
  }
}

function showError(error: Error, view: ChatView): void {
  const { message, advice } = explainError(error);
  view.note([`agentd: ${message}`, advice].filter(Boolean).join('\n'));
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
  view: ChatView,
  interrupts: Interrupts,
): Promise<{ stopped: boolean }> {
  let shown = '';
  let status = WAITING;
  view.status(status);
  try {
    const { response, stopped } = await conversation.send(
      message,
      {
        started: () => undefined,
        text(piece) {
          shown += piece;
          view.text(piece);
        },
        tool(name, state, data = {}) {
          const { title, sign_in_needed } = data;
          status = state === 'started' ? '' : WAITING;
          view.status(status);
          view.tool({
            name,
            title: typeof title === 'string' ? title : toolNameInWords(name),
            status: state === 'started' || state === 'failed' ? state : 'completed',
            needs_sign_in: sign_in_needed === true,
          });
        },
        confirmation: (id, data) => view.question(questionIn(id, data)),
        actions: (data) => view.receipts(readReceipts(data)),
        connected: (yes) => view.status(yes ? status : 'Connection lost. Trying again…'),
      },
      interrupts,
    );
    // If the message had been answered before, the whole answer arrives in one piece, with the last event.
    if (response.startsWith(shown)) view.text(response.slice(shown.length));
    return { stopped };
  } finally {
    view.endAnswer();
  }
}
