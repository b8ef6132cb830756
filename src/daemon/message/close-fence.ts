/** A paragraph that no fence of a reply can contain. */
const AFTER = 'after';

/**
 * The line that closes a fence of code which is still open at the end of a text in CommonMark; empty if there is none.
 * A fence in a list or a quotation ends with it, so only the last block of the text matters.
 */
export async function closeFence(text: string): Promise<string> {
  if (!/`{3}|~{3}/.test(text)) return '';
  const { readBlocks } = await loadParser();
  const last = readBlocks(`${text}\n\n${AFTER}`, {}).at(-1);
  return last?.type === 'fence' ? `\n${last.markup}` : '';
}

/**
 * Loads the parser of Markdown. A daemon calls this as soon as it serves: the parser would slow down its start, and an
 * upgrade replaces the file while it runs.
 */
export function loadParser(): Promise<typeof import('../../channel/markdown/parser.ts')> {
  return import('../../channel/markdown/parser.ts');
}
