/**
 * Markdown as a platform renders it ("agentd/channel/markdown"): a reply is CommonMark with the extensions of
 * GitHub; a channel describes by a `Dialect` how its platform writes it.
 */
import { convert } from './markdown/convert.ts';
import type { Dialect } from './markdown/dialect.ts';
import { inPieces } from './markdown/in-pieces.ts';

export type { Dialect, Mark } from './markdown/dialect.ts';
export { PLAIN } from './markdown/plain.ts';

/**
 * The messages that a text makes, at least one: each complete in itself and within the limits of the dialect.
 * Text of which nothing is seen is shown as it was written, or as an ellipsis: platforms refuse empty messages.
 *
 * It holds the event loop until it is done, which takes some milliseconds for each 10,000 characters. Use
 * `renderMarkdownInPieces` for replies of an agent, which have up to 100,000.
 */
export function renderMarkdown(markdown: string, dialect: Dialect): readonly string[] {
  const work = convert(markdown, dialect);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** As `renderMarkdown`, but others use the event loop in between, however long the text is. */
export function renderMarkdownInPieces(markdown: string, dialect: Dialect): Promise<readonly string[]> {
  return inPieces(convert(markdown, dialect));
}
