/**
 * The form of a reply between the parsed tree and the written messages: words and the white space between them. Each
 * word has the marks around it, outermost first.
 */
import type { Mark } from './dialect.ts';

export type Token = Word | Blank;

/** Text without white space. */
export interface Word {
  readonly kind: 'word';
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** White space. If a message is cut here, the white space is dropped. */
export interface Blank {
  readonly kind: 'space' | 'line' | 'paragraph';
  /** For kind `space`: the original text. */
  readonly text: string;
  /** How good it is to cut a message here. */
  readonly cut: Cut;
}

/** A higher value is a better place for a cut. */
export const CUT = { word: 0, sentence: 1, line: 2, paragraph: 3 } as const;
export type Cut = (typeof CUT)[keyof typeof CUT];
