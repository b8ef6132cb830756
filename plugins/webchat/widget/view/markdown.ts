import { parseMarkdown } from '../markdown/parse.ts';
import { type Piece, TAGS } from '../markdown/tree.ts';
import { h, set } from './dom.ts';

const ALLOWED: ReadonlySet<string> = new Set(TAGS);

/**
 * Shows Markdown below an element and keeps what has not changed since the last time, so that a reply can
 * grow while a part of it is selected. Nodes are made one by one; no text is ever read as HTML.
 */
export class MarkdownView {
  readonly #place: HTMLElement;
  /** The blocks that stand there, as they were parsed. */
  #shown: string[] = [];

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  show(text: string): void {
    const blocks = parseMarkdown(text);
    const wanted = blocks.map((block) => JSON.stringify(block));
    const same = wanted.findIndex((block, index) => block !== this.#shown[index]);
    const from = same === -1 ? wanted.length : same;
    while (this.#place.childNodes.length > from) this.#place.lastChild?.remove();
    this.#place.append(...blocks.slice(from).map(nodeOf));
    this.#shown = wanted;
  }
}

/** Attributes that are not the text's to choose; all but these elements find their own direction. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { target: '_blank', rel: 'noopener noreferrer nofollow' },
  th: { scope: 'col', dir: 'auto' },
  pre: { dir: 'ltr' },
};

function nodeOf(piece: Piece): Node {
  if (typeof piece === 'string') return document.createTextNode(piece);
  const { tag, children, href, start } = piece;
  if (!ALLOWED.has(tag)) throw new TypeError(`no such element: ${tag}`);
  const made = document.createElement(tag);
  set(made, ATTRIBUTES[tag] ?? { dir: 'auto' });
  if (href !== undefined) set(made, { href });
  if (start !== undefined) set(made, { start });
  made.append(...children.map(nodeOf));
  return tag === 'table' || tag === 'pre' ? h('div', { class: 'wide', tabindex: 0 }, made) : made;
}
