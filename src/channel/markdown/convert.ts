import { buildTree } from './build-tree.ts';
import type { Dialect } from './dialect.ts';
import { harmless } from './harmless.ts';
import { Layouter } from './lay-out.ts';
import { readBlocks } from './parser.ts';
import { partsOf } from './parts.ts';
import { split } from './split.ts';
import { tame } from './tame.ts';
import { withoutTricks } from './without-tricks.ts';

/**
 * The messages that a text makes, in pieces of work: each is bounded, whatever the text holds, and between two of
 * them others may use the event loop.
 */
export function* convert(markdown: string, dialect: Dialect): Generator<void, readonly string[]> {
  const text = withoutTricks(markdown);
  const shared = { env: {}, room: 50_000 };
  const parts = [];
  // All blocks come first: any part may define what the others refer to.
  for (const part of partsOf(text)) {
    parts.push(readBlocks(tame(part), shared.env));
    yield;
  }
  const page = new Layouter(dialect);
  for (const tokens of parts) {
    const blocks = buildTree(tokens, shared);
    yield;
    page.add(blocks);
    yield;
  }
  const messages = yield* split(page.inks, dialect);
  if (messages.length > 0) return messages;
  const asWritten = yield* split(
    harmless([{ kind: 'text', text: text.trim(), marks: [] }], dialect),
    dialect,
  );
  return asWritten.length > 0 ? asWritten : ['…'];
}
