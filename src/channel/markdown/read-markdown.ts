import { type Block, buildTree } from './build-tree.ts';
import { readBlocks } from './parser.ts';
import { limitNesting, splitSource, stripReserved } from './source.ts';

/**
 * Reads a text part by part: the blocks of the next part, or null while it still parses. Each step takes a bounded time
 * for any text. All parts are parsed before the first blocks are built, because any part may define a link or footnote
 * that another part uses.
 */
export function* readParts(markdown: string): Generator<readonly Block[] | null, void> {
  const shared = { env: {}, room: 50_000 };
  const parts = [];
  for (const part of splitSource(stripReserved(markdown))) {
    parts.push(readBlocks(limitNesting(part), shared.env));
    yield null;
  }
  for (const tokens of parts) yield buildTree(tokens, shared);
}

/** All blocks of a text. */
export function readMarkdown(markdown: string): readonly Block[] {
  return [...readParts(markdown)].flatMap((blocks) => blocks ?? []);
}
