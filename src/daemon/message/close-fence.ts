/** A paragraph that no fence of a reply can contain. */
const AFTER = 'after';

/**
 * The line that closes a fence of code which is still open at the end of a text in CommonMark; empty if there is none.
 * A fence in a list or a quotation ends with it, so only the last block of the text matters.
 */
export async function closeFence(text: string): Promise<string> {
  if (!/`{3}|~{3}/.test(text)) return '';
  // Most replies need no parser.
  const { readBlocks } = await import('../../channel/markdown/parser.ts');
  const last = readBlocks(`${text}\n\n${AFTER}`, {}).at(-1);
  return last?.type === 'fence' ? `\n${last.markup}` : '';
}
