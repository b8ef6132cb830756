import { buildTree } from './build-tree.ts';
import type { Dialect } from './dialect.ts';
import { escapeRuns } from './escape.ts';
import { Layouter } from './layout.ts';
import { limitNesting } from './limit-nesting.ts';
import { readBlocks } from './parser.ts';
import { split } from './split.ts';
import { splitSource } from './split-source.ts';
import { stripReserved } from './strip-reserved.ts';

/**
 * Renders a text step by step. Each step takes a bounded time for any text, and other work can run between two steps.
 */
export function* convert(markdown: string, dialect: Dialect): Generator<void, readonly string[]> {
  const text = stripReserved(markdown);
  const shared = { env: {}, room: 50_000 };
  const parts = [];
  // All blocks are read first, because any part may define a link or footnote that another part uses.
  for (const part of splitSource(text)) {
    parts.push(readBlocks(limitNesting(part), shared.env));
    yield;
  }
  const page = new Layouter(dialect);
  for (const tokens of parts) {
    const blocks = buildTree(tokens, shared);
    yield;
    page.add(blocks);
    yield;
  }
  const messages = yield* split(page.tokens, dialect);
  if (messages.length > 0) return messages;
  const asWritten = yield* split(
    escapeRuns([{ kind: 'text', text: text.trim(), marks: [] }], dialect),
    dialect,
  );
  return asWritten.length > 0 ? asWritten : ['…'];
}
