import type { Env, Token } from 'markdown-it';
import { restoreSigns } from './limit-nesting.ts';
import { mailIn } from './syntax/address.ts';
import type { Image, Inline, Link, Styled } from './tree.ts';

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

/** Builds the tree of the text of one block. */
export function buildInline(tokens: readonly Token[], shared: Shared): Inline[] {
  return new InlineBuilder(tokens, shared).nodes(false);
}

const STYLES: Readonly<Record<string, Styled['type']>> = {
  strong_open: 'strong',
  em_open: 'emphasis',
  s_open: 'delete',
};

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
    const url = this.#urlOf(token, 'href');
    return { type: 'link', url, children: this.nodes(true) };
  }

  #image(token: Token): Image {
    const alt = restoreSigns(seenIn(token.children ?? []));
    return { type: 'image', url: this.#urlOf(token, 'src'), alt };
  }

  /** The address of a link or an image. Empty if it is the address of a reference for which no room is left. */
  #urlOf(token: Token, attribute: 'href' | 'src'): string {
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
