import type { Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { hasGfmSigns } from './gfm-signs.ts';
import { partsOf } from './parts.ts';
import { HIDDEN, shown, tame } from './tame.ts';

/** HTML is text, and what stands in it is Markdown as everywhere. */
const COMMONMARK = { extensions: [{ disable: { null: ['htmlFlow', 'htmlText'] } }] };
const WITH_GFM = {
  extensions: [gfm(), ...COMMONMARK.extensions],
  mdastExtensions: [gfmFromMarkdown()],
};

/** CommonMark with tables, strikethrough, task lists, footnotes and addresses that stand alone, as a tree. `withoutTricks` came before. */
export function parseMarkdown(text: string): Root {
  const children = partsOf(text).flatMap((part) => parse(part).children);
  return { type: 'root', children };
}

function parse(part: string): Root {
  const tree = fromMarkdown(tame(part), hasGfmSigns(part) ? WITH_GFM : COMMONMARK);
  showHidden(tree);
  return tree;
}

/**
 * Characters that reorder or hide what stands around them are left out: controls, and the bidirectional
 * embeddings and overrides, with which a text could be made to read otherwise than it is. Marks and isolates,
 * which right-to-left texts need, stay. So are those that no text has (`tame`).
 */
export function withoutTricks(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '')
    .replace(HIDDEN, '');
}

function showHidden(node: Nodes): void {
  if ('value' in node) node.value = shown(node.value);
  if ('url' in node) node.url = shown(node.url);
  if ('alt' in node && node.alt) node.alt = shown(node.alt);
  if ('label' in node && node.label) node.label = shown(node.label);
  if ('children' in node) for (const child of node.children) showHidden(child);
}
