import type { Token } from 'markdown-it';
import { buildInline, type Shared } from './build-inline.ts';
import { restoreSigns } from './limit-nesting.ts';
import { readInline } from './parser.ts';
import type { Block, Inline, ListItem } from './tree.ts';

/** A block with its first line and the line after its last one. */
interface Placed {
  readonly block: Block;
  readonly begin: number;
  readonly end: number;
}

/** Builds the tree of one part. */
export function buildTree(tokens: readonly Token[], shared: Shared): Block[] {
  return new TreeBuilder(tokens, shared).blocks().map(({ block }) => block);
}

class TreeBuilder {
  readonly #tokens: readonly Token[];
  readonly #shared: Shared;
  #at = 0;

  constructor(tokens: readonly Token[], shared: Shared) {
    this.#tokens = tokens;
    this.#shared = shared;
  }

  /** Reads all blocks up to the end of the enclosing block. */
  blocks(): Placed[] {
    const blocks: Placed[] = [];
    for (let open = this.#next(); open !== undefined && open.nesting !== -1; open = this.#next()) {
      const [begin, end] = open.map ?? [0, 0];
      if (open.type === 'bullet_list_open') blocks.push({ ...this.#list(null), begin });
      else if (open.type === 'ordered_list_open')
        blocks.push({ ...this.#list(Number(open.attrGet('start') ?? 1)), begin });
      else if (open.type !== 'reference_definition') blocks.push({ block: this.#block(open), begin, end });
    }
    return blocks;
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  #block(open: Token): Block {
    switch (open.type) {
      case 'paragraph_open':
        return { type: 'paragraph', children: this.#inlineBlock() };
      case 'heading_open':
        return { type: 'heading', children: this.#inlineBlock() };
      case 'blockquote_open':
        return { type: 'blockquote', children: this.#children() };
      case 'fence':
      case 'code_block':
        return { type: 'code', lang: languageOf(open), value: codeOf(open) };
      case 'table_open':
        return { type: 'table', rows: this.#rows() };
      case 'hr':
        return { type: 'thematicBreak' };
      case 'footnote_open':
        return { type: 'footnoteDefinition', label: restoreSigns(open.content), children: this.#children() };
      default:
        throw new TypeError(`the parser made a block of an unknown type: ${open.type}`);
    }
  }

  #children(): Block[] {
    return this.blocks().map(({ block }) => block);
  }

  /** Reads the text of a block that contains no blocks, and the end of this block. */
  #inlineBlock(): Inline[] {
    const content = this.#next()?.content ?? '';
    this.#at++;
    return buildInline(readInline(content, this.#shared.env), this.#shared);
  }

  /** The list ends after its last item, although the parser counts the empty lines below as part of it. */
  #list(start: number | null): Omit<Placed, 'begin'> {
    const children: ListItem[] = [];
    let isSpread = false;
    let end = 0;
    for (let open = this.#next(); open?.type === 'list_item_open'; open = this.#next()) {
      const [begin = 0] = open.map ?? [];
      isSpread ||= children.length > 0 && begin > end;
      const checked = this.#takeBox();
      const blocks = this.blocks();
      end = blocks.at(-1)?.end ?? begin + 1;
      const spread = blocks.some((block, index) => index > 0 && block.begin > (blocks[index - 1]?.end ?? 0));
      children.push({ spread, checked, children: blocks.map(({ block }) => block) });
    }
    return { block: { type: 'list', start, spread: isSpread, children }, end };
  }

  /**
   * Removes the checkbox at the beginning of an item. Returns whether it is checked, or null if there is no checkbox or
   * no text after it.
   */
  #takeBox(): boolean | null {
    const paragraph = this.#tokens[this.#at];
    const inline = this.#tokens[this.#at + 1];
    if (paragraph?.type !== 'paragraph_open' || inline === undefined) return null;
    const [box, mark] = /^\[([\sxX])\]\s+(?=\S)/.exec(inline.content) ?? [];
    if (box === undefined) return null;
    inline.content = inline.content.slice(box.length);
    return mark?.toLowerCase() === 'x';
  }

  #rows(): Inline[][][] {
    const rows: Inline[][][] = [];
    for (let open = this.#next(); open?.type === 'tr_open'; open = this.#next()) {
      const cells: Inline[][] = [];
      while (this.#next()?.type === 'td_open') cells.push(this.#inlineBlock());
      rows.push(cells);
    }
    return rows;
  }
}

function languageOf({ info }: Token): string {
  return /^\S*/.exec(restoreSigns(info).trim())?.[0] ?? '';
}

function codeOf({ content }: Token): string {
  return restoreSigns(content).replace(/\n$/, '');
}
