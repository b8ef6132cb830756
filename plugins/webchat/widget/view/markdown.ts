import { parseMarkdown } from '../markdown/parse.ts';
import { type Piece, TAGS, type Element as Tree } from '../markdown/tree.ts';

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

function nodeOf(piece: Piece): Node {
  if (typeof piece === 'string') return document.createTextNode(piece);
  if (!ALLOWED.has(piece.tag)) throw new TypeError(`no such element: ${piece.tag}`);
  const made = document.createElement(piece.tag);
  made.append(...piece.children.map(nodeOf));
  for (const [name, value] of attributesOf(piece)) made.setAttribute(name, value);
  return made.localName === 'table' || made.localName === 'pre' ? scrollable(made) : made;
}

function attributesOf({ tag, href, start }: Tree): [string, string][] {
  switch (tag) {
    case 'a':
      return [
        ['href', href ?? ''],
        ['target', '_blank'],
        ['rel', 'noopener noreferrer nofollow'],
      ];
    case 'ol':
      return start === undefined || start === 1 ? [] : [['start', String(start)]];
    case 'th':
      return [['scope', 'col']];
    case 'pre':
      return [['dir', 'ltr']];
    case 'p':
    case 'li':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'td':
      return [['dir', 'auto']];
    default:
      return [];
  }
}

/** What is wider than the panel is scrolled in a frame of its own, also by keyboard. */
function scrollable(inner: HTMLElement): HTMLElement {
  const frame = document.createElement('div');
  frame.className = 'wide';
  frame.tabIndex = 0;
  frame.append(inner);
  return frame;
}
