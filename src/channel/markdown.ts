import { setImmediate } from 'node:timers';
import type { Block } from './markdown/build-tree.ts';
import type { Dialect } from './markdown/dialect.ts';
import { layOut } from './markdown/layout.ts';
import { readParts } from './markdown/read-markdown.ts';
import { escapeRuns } from './markdown/runs.ts';
import { stripReserved } from './markdown/source.ts';
import { split } from './markdown/split.ts';
import type { Token } from './markdown/tokens.ts';
import type { OutgoingReply } from './message.ts';
import { pressPayload } from './payload.ts';

/**
 * Renders Markdown for platforms ("agentd/channel/markdown"). A reply is CommonMark with the extensions of GitHub. A
 * channel describes the markup of its platform with a `Dialect`.
 */

export type { Dialect, Mark } from './markdown/dialect.ts';
export { PLAIN } from './markdown/dialect.ts';

/**
 * Renders a text as one or more messages. Each message is complete, with its marks closed, and within the limit of the
 * dialect. A text without visible content is rendered unchanged, or as an ellipsis, since platforms refuse empty
 * messages.
 *
 * This function blocks the event loop for some milliseconds per 10,000 characters. Use `renderMarkdownInPieces` for the
 * replies of an agent, which have up to 100,000 characters.
 */
export function renderMarkdown(markdown: string, dialect: Dialect): readonly string[] {
  const work = convert(markdown, dialect);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** Like `renderMarkdown`, but pauses often, so that other work can use the event loop. */
export function renderMarkdownInPieces(markdown: string, dialect: Dialect): Promise<readonly string[]> {
  return inPieces(convert(markdown, dialect));
}

/** The messages of a reply. */
export interface RenderedReply {
  texts: readonly string[];
  /** The message with the question and its two buttons, which comes last. Null if there are no buttons. */
  question: { text: string; buttons: readonly { label: string; press: string; approve: boolean }[] } | null;
}

/**
 * Renders a reply for a platform with buttons. If its question is too long for one message with buttons, it has no
 * buttons, and people answer with words.
 * @param questionMax longest text that can have buttons
 * @param change changes the rendered question, for example so that none of its words is a sign of the platform
 */
export async function renderReply(
  { text, confirmation }: Pick<OutgoingReply, 'text' | 'confirmation'>,
  dialect: Dialect,
  questionMax = Number.POSITIVE_INFINITY,
  change: (question: string) => string = (question) => question,
): Promise<RenderedReply> {
  const [first, ...more] = confirmation ? await renderMarkdownInPieces(confirmation.question, dialect) : [];
  const question = first === undefined ? '' : change(first);
  if (!confirmation || first === undefined || more.length > 0 || question.length > questionMax)
    return { texts: await renderMarkdownInPieces(text, dialect), question: null };
  const { id, lead, confirm, decline } = confirmation;
  const button = (label: string, approve: boolean) => ({ label, press: pressPayload(id, approve), approve });
  return {
    texts: lead === '' ? [] : await renderMarkdownInPieces(lead, dialect),
    question: { text: question, buttons: [button(confirm, true), button(decline, false)] },
  };
}

/**
 * Renders a text step by step. Each step takes a bounded time for any text, and other work can run between two steps.
 */
export function* convert(markdown: string, dialect: Dialect): Generator<void, readonly string[]> {
  const tokens: Token[] = [];
  const layout = { dialect, frames: [], depth: 0 };
  let last: Block | null = null;
  for (const blocks of readParts(markdown)) {
    yield;
    if (blocks === null) continue;
    last = layOut(blocks, last, tokens, layout);
    yield;
  }
  const messages = yield* split(tokens, dialect);
  if (messages.length > 0) return messages;
  const asWritten = yield* split(
    escapeRuns([{ kind: 'text', text: stripReserved(markdown).trim(), marks: [] }], dialect),
    dialect,
  );
  return asWritten.length > 0 ? asWritten : ['…'];
}

/** Maximum time that the steps of one tick may take together, ms. A single step may take longer. */
const TICK_MS = 5;

/** The running conversions. Each function runs the next step of a conversion, and returns true after the last step. */
const queue: (() => boolean)[] = [];

/**
 * Runs the steps of a conversion. In each tick of the event loop, the conversions run their steps in turn, for a
 * limited time in total. Ten long replies at once therefore block the loop no longer than one long reply, and a hundred
 * short replies can be converted in the same tick.
 */
export function inPieces<Result>(work: Generator<void, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    queue.push(() => {
      try {
        const step = work.next();
        if (step.done) resolve(step.value);
        return step.done === true;
      } catch (error) {
        reject(error);
        return true;
      }
    });
    if (queue.length === 1) setImmediate(doPieces);
  });
}

function doPieces(): void {
  const ends_at = performance.now() + TICK_MS;
  do {
    const next = queue.shift();
    if (next?.() === false) queue.push(next);
  } while (queue.length > 0 && performance.now() < ends_at);
  if (queue.length > 0) setImmediate(doPieces);
}
