/** The only elements that Markdown can produce. The widget creates no other elements from an agent's text. */
export const TAGS = [
  'p',
  'h3',
  'h4',
  'ul',
  'ol',
  'li',
  'blockquote',
  'pre',
  'hr',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
  'code',
  'strong',
  'em',
  'del',
  'br',
  'a',
] as const;

export type Tag = (typeof TAGS)[number];

/** A piece of a message: text, or an allowed element that contains pieces. */
export type Piece = string | Element;

export interface Element {
  tag: Tag;
  children: Piece[];
  /** Only for `a`: an absolute http, https or mailto address. */
  href?: string;
  /** Only for `ol`: the number of its first item. */
  start?: number;
  /** Only for `th` and `td`: the alignment of the column. */
  align?: 'left' | 'center' | 'right';
}

export function element(tag: Tag, children: Piece[] = []): Element {
  return { tag, children };
}

const INLINE: ReadonlySet<Tag> = new Set(['code', 'strong', 'em', 'del', 'a']);

/** The text without markup. Each block is on its own lines. */
export function wordsOf(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : `${wordsOf(piece.children)}${INLINE.has(piece.tag) ? '' : '\n'}`,
    )
    .join('');
}
