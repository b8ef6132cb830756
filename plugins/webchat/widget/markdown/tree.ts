/** The only elements that Markdown can become; nothing else is ever made of an agent's text. */
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

/** A piece of a message: text, or one of the allowed elements with pieces in it. */
export type Piece = string | Element;

export interface Element {
  tag: Tag;
  children: Piece[];
  /** Of `a` alone: an absolute http, https or mailto address. */
  href?: string;
  /** Of `ol` alone: its first number. */
  start?: number;
  /** Of `th` and `td` alone: how the column is aligned. */
  align?: 'left' | 'center' | 'right';
}

export function element(tag: Tag, children: Piece[] = []): Element {
  return { tag, children };
}

const INLINE: ReadonlySet<Tag> = new Set(['code', 'strong', 'em', 'del', 'a']);

/** The words alone, blocks on lines of their own. */
export function wordsOf(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : `${wordsOf(piece.children)}${INLINE.has(piece.tag) ? '' : '\n'}`,
    )
    .join('');
}
