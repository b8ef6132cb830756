import { linesOf, type Placed, takeBlocks, takeItems } from './parse.ts';
import type { Element } from './tree.ts';

/**
 * The Markdown of a text that grows. Finished blocks, and finished items of the list that the text ends in, are
 * parsed once: each call returns the same objects for them, so a view finds what has changed by comparing with `===`.
 */
export class GrowingMarkdown {
  #text = '';
  /** How much of the text is finished, characters. */
  #from = 0;
  #blocks: Element[] = [];
  /** The list that the rest of the text goes on with, and its finished items; null: a block begins there. */
  #list: Element | null = null;

  /** Returns what `parseMarkdown` does, whatever the text was before. */
  parse(text: string): Element[] {
    if (!text.startsWith(this.#text)) this.#forget();
    this.#text = text;
    const lines = linesOf(text, this.#from);
    const [items, next] = this.#list === null ? [[], 0] : takeItems(lines, 0, 0);
    const blocks = takeBlocks(lines, next, 0);
    const list = this.#list === null ? [] : [withItems(this.#list, items)];
    const all = [...this.#blocks, ...list, ...elementsOf(blocks)];
    this.#finish(lines, items, blocks);
    return all;
  }

  /** How many characters the next call parses again. */
  get unfinished(): number {
    return this.#text.length - this.#from;
  }

  #forget(): void {
    this.#from = 0;
    this.#blocks = [];
    this.#list = null;
  }

  #finish(lines: readonly string[], items: readonly Placed[], blocks: readonly Placed[]): void {
    const last = lastSettled(blocks, lines);
    const open = blocks[last];
    if (open === undefined) {
      this.#finishItems(lines, items);
      return;
    }
    if (this.#list !== null) this.#blocks.push(withItems(this.#list, items));
    this.#blocks.push(...elementsOf(blocks.slice(0, last)));
    this.#list = open.items === undefined ? null : { ...open.element, children: [] };
    if (open.items === undefined) this.#goOnFrom(open.at);
    else this.#finishItems(lines, open.items);
  }

  #finishItems(lines: readonly string[], items: readonly Placed[]): void {
    if (this.#list === null) return;
    const last = Math.max(0, lastSettled(items, lines));
    this.#list = withItems(this.#list, items.slice(0, last));
    this.#goOnFrom(items[last]?.at ?? 0);
  }

  /** The lines before this one are finished. */
  #goOnFrom(line: number): void {
    const breaks = /\r\n?|\n/g;
    breaks.lastIndex = this.#from;
    for (let count = 0; count < line; count++) breaks.exec(this.#text);
    this.#from = breaks.lastIndex;
  }
}

/**
 * The last element whose first two lines are complete: what comes later cannot move its beginning, so all before it
 * is finished. -1: there is none.
 */
function lastSettled(placed: readonly Placed[], lines: readonly string[]): number {
  let last = placed.length - 1;
  while (last >= 0 && (placed[last]?.at ?? 0) + 2 >= lines.length) last--;
  return last;
}

function elementsOf(placed: readonly Placed[]): Element[] {
  return placed.map(({ element }) => element);
}

function withItems(list: Element, items: readonly Placed[]): Element {
  return { ...list, children: [...list.children, ...elementsOf(items)] };
}
