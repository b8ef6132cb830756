/**
 * Markdown as a platform renders it ("agentd/channel/markdown"): a reply is CommonMark with the extensions of
 * GitHub; a channel says by a `Dialect` how its platform writes it.
 */
import type { Dialect } from './markdown/dialect.ts';
import { layOut } from './markdown/lay-out.ts';
import { parseMarkdown } from './markdown/parse.ts';
import { split } from './markdown/split.ts';
import { wordsOf } from './markdown/words.ts';

export type { Dialect, Mark } from './markdown/dialect.ts';

/**
 * The messages that a text makes, at least one: each complete in itself and within the limits of the dialect.
 * Text of which nothing is seen is shown as it was written, or as an ellipsis: platforms refuse empty messages.
 */
export function renderMarkdown(markdown: string, dialect: Dialect): readonly string[] {
  const messages = split(layOut(parseMarkdown(markdown), dialect), dialect);
  if (messages.length > 0) return messages;
  const asWritten = split(wordsOf(markdown.trim(), []), dialect);
  return asWritten.length > 0 ? asWritten : ['…'];
}
