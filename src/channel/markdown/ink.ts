/**
 * A reply between its tree and its messages: words, the white space between them, and with each word the marks
 * that it stands in, the outermost first.
 */
import type { Mark } from './dialect.ts';

export type Ink = Word | Blank;

/** Text without white space. */
export interface Word {
  readonly kind: 'word';
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** White space: a place where a message may be cut; it vanishes then. */
export interface Blank {
  readonly kind: 'space' | 'line' | 'paragraph';
  /** Of kind `space`: as it is written. */
  readonly text: string;
  /** How good a place this is for a cut. */
  readonly cut: Cut;
}

/** Of two places the higher one is the better. */
export const CUT = { word: 0, sentence: 1, line: 2, paragraph: 3 } as const;
export type Cut = (typeof CUT)[keyof typeof CUT];
