import { type Piece, TAGS } from '../markdown/inline.ts';
import { parseMarkdown } from '../markdown/parse.ts';
import type { Texts } from '../texts.ts';
import { h, icon, iconButton, set } from './dom.ts';

const ALLOWED: ReadonlySet<string> = new Set(TAGS);

/**
 * Shows Markdown inside an element. Unchanged nodes are kept, so that a selection survives while the reply grows. Nodes
 * are created one by one: text is never parsed as HTML.
 */
export class MarkdownView {
  readonly #place: HTMLElement;
  /** The blocks that are shown, as JSON. */
  #shown: string[] = [];

  readonly #texts: Texts;
  readonly #say: (words: string) => void;

  constructor(place: HTMLElement, texts: Texts, say: (words: string) => void) {
    this.#place = place;
    this.#texts = texts;
    this.#say = say;
  }

  show(text: string): void {
    const blocks = parseMarkdown(text);
    const wanted = blocks.map((block) => JSON.stringify(block));
    const same = wanted.findIndex((block, index) => block !== this.#shown[index]);
    const from = same === -1 ? wanted.length : same;
    while (this.#place.childNodes.length > from) this.#place.lastChild?.remove();
    this.#place.append(...blocks.slice(from).map((block) => this.#createNode(block)));
    this.#shown = wanted;
  }

  #createNode(piece: Piece): Node {
    if (typeof piece === 'string') return document.createTextNode(piece);
    const { tag, children, href, start, align, done } = piece;
    if (!ALLOWED.has(tag)) throw new TypeError(`no such element: ${tag}`);
    const made = document.createElement(tag);
    set(made, ATTRIBUTES[tag] ?? { dir: 'auto' });
    if (href !== undefined) set(made, { href });
    if (start !== undefined) set(made, { start });
    if (align !== undefined) made.style.textAlign = align;
    if (done !== undefined) made.className = done ? 'task check' : 'task';
    made.append(...children.map((child) => this.#createNode(child)));
    if (tag !== 'table' && tag !== 'pre') return made;
    const scroller = h('div', { class: 'wide', tabindex: 0 }, made);
    // A page without a secure origin has no clipboard.
    return tag === 'pre' && navigator.clipboard
      ? h(
          'div',
          { class: 'code', dir: 'ltr' },
          scroller,
          copyButton(this.#texts, this.#say, [this.#texts.copy, 'copy'], () => made.textContent),
        )
      : scroller;
  }
}

/** A button that copies a text, and says so. */
export function copyButton(
  { copied }: Texts,
  say: (words: string) => void,
  [label, kind]: readonly [label: string, kind: string],
  textOf: () => string,
): HTMLElement {
  const copy = iconButton('copy', label, `quiet ${kind}`, async () => {
    await navigator.clipboard.writeText(textOf());
    copy.replaceChildren(icon('check'));
    say(copied);
  });
  return copy;
}

/** Attributes that do not depend on the text. Any other element detects its own text direction. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { target: '_blank', rel: 'noopener noreferrer nofollow' },
  th: { scope: 'col', dir: 'auto' },
  pre: { dir: 'ltr' },
};
