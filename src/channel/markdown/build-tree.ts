import type { Env, Token } from 'markdown-it';
import { mailIn, readInline } from './parser.ts';
import { restoreSigns } from './source.ts';

/** A reply as a tree: the part of mdast that platforms can show, with the names of mdast. */
export type Block = Paragraph | Heading | Quote | List | CodeBlock | Table | Rule | Footnote;

interface Paragraph {
  readonly type: 'paragraph';
  readonly children: readonly Inline[];
}

interface Heading {
  readonly type: 'heading';
  readonly children: readonly Inline[];
}

interface Quote {
  readonly type: 'blockquote';
  readonly children: readonly Block[];
}

export interface List {
  readonly type: 'list';
  /** The number of the first item. Null if the list has bullets. */
  readonly start: number | null;
  /** Whether there are empty lines between the items. */
  readonly spread: boolean;
  readonly children: readonly ListItem[];
}

export interface ListItem {
  /** Whether there are empty lines between the blocks of the item. */
  readonly spread: boolean;
  /** Null if the item is not a task. */
  readonly checked: boolean | null;
  readonly children: readonly Block[];
}

interface CodeBlock {
  readonly type: 'code';
  /** Empty if no language is named. */
  readonly lang: string;
  readonly value: string;
}

export interface Table {
  readonly type: 'table';
  /** Rows of cells, head first. Rows may differ in length. */
  readonly rows: readonly (readonly (readonly Inline[])[])[];
}

interface Rule {
  readonly type: 'thematicBreak';
}

interface Footnote {
  readonly type: 'footnoteDefinition';
  readonly label: string;
  readonly children: readonly Block[];
}

export type Inline = Text | Code | Break | Styled | Link | Image;

interface Text {
  readonly type: 'text';
  readonly value: string;
}

interface Code {
  readonly type: 'inlineCode';
  readonly value: string;
}

interface Break {
  readonly type: 'break';
}

interface Styled {
  readonly type: 'strong' | 'emphasis' | 'delete';
  readonly children: readonly Inline[];
}

interface Link {
  readonly type: 'link';
  readonly url: string;
  readonly children: readonly Inline[];
}

interface Image {
  readonly type: 'image';
  readonly url: string;
  readonly alt: string;
}

/** A block with its first line and the line after its last one. */
interface Placed {
  readonly block: Block;
  readonly begin: number;
  readonly end: number;
}

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
        return { type: 'code', lang: readLanguage(open), value: readCode(open) };
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
    return new InlineBuilder(readInline(content, this.#shared.env), this.#shared).nodes(false);
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

function readLanguage({ info }: Token): string {
  return /^\S*/.exec(restoreSigns(info).trim())?.[0] ?? '';
}

function readCode({ content }: Token): string {
  return restoreSigns(content).replace(/\n$/, '');
}

/** State that the parts of one reply share. */
export interface Shared {
  /** Definitions of links and footnotes. */
  readonly env: Env;
  /**
   * Total length of the addresses that further references may show, characters. Without this limit, a text could repeat
   * a long address ten thousand times.
   */
  room: number;
}

const STYLES: Readonly<Record<string, Styled['type']>> = {
  strong_open: 'strong',
  em_open: 'emphasis',
  s_open: 'delete',
};

/** Builds the tree of the text of one block. */
class InlineBuilder {
  readonly #tokens: readonly Token[];
  readonly #shared: Shared;
  readonly #styles = new Set<Styled['type']>();
  #at = 0;

  constructor(tokens: readonly Token[], shared: Shared) {
    this.#tokens = tokens;
    this.#shared = shared;
  }

  /** Reads all nodes up to the end of the enclosing mark. */
  nodes(isInLink: boolean): Inline[] {
    const nodes: Inline[] = [];
    let repeatedStyles = 0;
    let text = '';
    const endText = () => {
      if (text !== '')
        nodes.push(...(isInLink ? [textNode(restoreSigns(text))] : withMail(restoreSigns(text))));
      text = '';
    };
    for (let token = this.#next(); token !== undefined; token = this.#next()) {
      const plain = plainText(token);
      if (plain !== null) {
        text += plain;
        continue;
      }
      endText();
      // A style inside the same style changes nothing. Skipping it keeps the tree shallow, however deeply the text is
      // nested.
      if (this.#isRepeated(token)) repeatedStyles++;
      else if (token.nesting !== -1) nodes.push(this.#node(token, isInLink));
      else if (repeatedStyles > 0) repeatedStyles--;
      else break;
    }
    endText();
    return nodes;
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  #node(token: Token, isInLink: boolean): Inline {
    const style = STYLES[token.type];
    if (style !== undefined) return this.#styled(style, isInLink);
    switch (token.type) {
      case 'code_inline':
        return { type: 'inlineCode', value: restoreSigns(token.content) };
      case 'hardbreak':
        return { type: 'break' };
      case 'link_open':
        return this.#link(token);
      case 'image':
        return this.#image(token);
      default:
        throw new TypeError(`the parser made text of an unknown type: ${token.type}`);
    }
  }

  #isRepeated(token: Token): boolean {
    const style = STYLES[token.type];
    return style !== undefined && this.#styles.has(style);
  }

  #styled(type: Styled['type'], isInLink: boolean): Styled {
    this.#styles.add(type);
    const children = this.nodes(isInLink);
    this.#styles.delete(type);
    return { type, children };
  }

  #link(token: Token): Link {
    const url = this.#readUrl(token, 'href');
    return { type: 'link', url, children: this.nodes(true) };
  }

  #image(token: Token): Image {
    const alt = restoreSigns(seenIn(token.children ?? []));
    return { type: 'image', url: this.#readUrl(token, 'src'), alt };
  }

  /** The address of a link or an image. Empty if it is the address of a reference for which no room is left. */
  #readUrl(token: Token, attribute: 'href' | 'src'): string {
    const url = restoreSigns(String(token.attrGet(attribute) ?? ''));
    const isReference = token.meta?.label !== undefined;
    if (isReference) this.#shared.room -= url.length;
    return isReference && this.#shared.room < 0 ? '' : url;
  }
}

/** The text of a token. Null if the token is more than text. */
function plainText(token: Token): string | null {
  switch (token.type) {
    case 'text':
    case 'text_special':
      return token.content;
    case 'softbreak':
      return '\n';
    case 'footnote_reference':
      return `[${token.content}]`;
    default:
      return null;
  }
}

/** The visible text of an image's label. */
function seenIn(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'hardbreak') return '\n';
      return plainText(token) ?? (token.type === 'image' ? seenIn(token.children ?? []) : token.content);
    })
    .join('');
}

function textNode(value: string): Inline {
  return { type: 'text', value };
}

/** The text with its mail addresses as links. */
function withMail(text: string): Inline[] {
  const nodes: Inline[] = [];
  let from = 0;
  for (const { index, shown: address } of mailIn(text)) {
    if (index > from) nodes.push(textNode(text.slice(from, index)));
    const url = address.toLowerCase().startsWith('mailto:') ? address : `mailto:${address}`;
    nodes.push({ type: 'link', url, children: [textNode(address)] });
    from = index + address.length;
  }
  if (from < text.length) nodes.push(textNode(text.slice(from)));
  return nodes;
}
