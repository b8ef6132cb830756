/**
 * Markdown as a platform renders it ("agentd/channel/markdown"): a reply is CommonMark with the extensions of
 * GitHub; a channel says by a `Dialect` how its platform writes it.
 */
import type { Dialect } from './markdown/dialect.ts';
import { harmless } from './markdown/harmless.ts';
import { layOut } from './markdown/lay-out.ts';
import { parseMarkdown, withoutTricks } from './markdown/parse.ts';
import { split } from './markdown/split.ts';

export type { Dialect, Mark } from './markdown/dialect.ts';
export { PLAIN } from './markdown/plain.ts';

/**
 * The messages that a text makes, at least one: each complete in itself and within the limits of the dialect.
 * Text of which nothing is seen is shown as it was written, or as an ellipsis: platforms refuse empty messages.
 */
export function renderMarkdown(markdown: string, dialect: Dialect): readonly string[] {
  const text = withoutTricks(markdown);
  const messages = split(layOut(parseMarkdown(text), dialect), dialect);
  if (messages.length > 0) return messages;
  const asWritten = split(harmless([{ kind: 'text', text: text.trim(), marks: [] }], dialect), dialect);
  return asWritten.length > 0 ? asWritten : ['…'];
}
