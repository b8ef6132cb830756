import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** HTML is text: what stands in it is Markdown as everywhere. */
const EXTENSIONS = [gfm(), { disable: { null: ['htmlFlow', 'htmlText'] } }];
const MDAST_EXTENSIONS = [gfmFromMarkdown()];

/** CommonMark with tables, strikethrough, task lists, footnotes and addresses that stand alone, as a tree. */
export function parseMarkdown(text: string): Root {
  return fromMarkdown(withoutTricks(text), { extensions: EXTENSIONS, mdastExtensions: MDAST_EXTENSIONS });
}

/**
 * Characters that reorder or hide what stands around them are left out: controls, and the bidirectional
 * embeddings and overrides, with which a text could be made to read otherwise than it is. Marks and isolates,
 * which right-to-left texts need, stay.
 */
function withoutTricks(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/g, '');
}
