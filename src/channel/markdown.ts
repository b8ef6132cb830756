/**
 * Renders Markdown for platforms ("agentd/channel/markdown"). A reply is CommonMark with the extensions of GitHub. A
 * channel describes the markup of its platform with a `Dialect`.
 */
import { convert } from './markdown/convert.ts';
import type { Dialect } from './markdown/dialect.ts';
import { inPieces } from './markdown/in-pieces.ts';

export type { Dialect, Mark } from './markdown/dialect.ts';
export { PLAIN } from './markdown/plain.ts';

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
