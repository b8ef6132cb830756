import type { Mark } from './dialect.ts';

/**
 * The form of a reply between the parsed tree and the written messages: words and the white space between them. Each
 * word has the marks around it, outermost first.
 */

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
type Cut = (typeof CUT)[keyof typeof CUT];

/** What ends a sentence, with closing quotes and brackets. */
export const SENTENCE_SIGNS = String.raw`[.!?…。！？｡؟۔।]["'”’»)\]]*`;
const SENTENCE_END = new RegExp(`${SENTENCE_SIGNS}$`, 'u');
/** Scripts without spaces: a sentence can end inside a word. */
export const SENTENCE_WITHIN = /(?<=[。！？｡][”’」』）]?)(?![”’」』）。！？｡])/u;

export const LINE: Blank = { kind: 'line', text: '', cut: CUT.line };
export const PARAGRAPH: Blank = { kind: 'paragraph', text: '', cut: CUT.paragraph };

/** Splits prose into words and white space. Line breaks are kept. */
export function splitWords(text: string, marks: readonly Mark[]): Token[] {
  const tokens: Token[] = [];
  for (const part of text.split(/(\n|[^\S\n]+)/)) {
    if (part === '') continue;
    if (part === '\n') tokens.push(LINE);
    else if (part.trim() === '') tokens.push(space(part, tokens.at(-1)));
    else {
      const [first = '', ...others] = part.split(SENTENCE_WITHIN);
      tokens.push({ kind: 'word', text: first, marks });
      for (const text of others) {
        tokens.push({ kind: 'space', text: '', cut: CUT.sentence }, { kind: 'word', text, marks });
      }
    }
  }
  return tokens;
}

function space(text: string, before: Token | undefined): Blank {
  const ends = before?.kind === 'word' && SENTENCE_END.test(before.text.slice(-8));
  return { kind: 'space', text, cut: ends ? CUT.sentence : CUT.word };
}

/**
 * Splits code into words and white space. The indentation of a line is part of its first word, so that a cut does not
 * remove it.
 */
export function splitCode(text: string, marks: readonly Mark[]): Token[] {
  return text.split('\n').flatMap((line, index) => {
    const tokens: Token[] = index === 0 ? [] : [LINE];
    for (const part of line.trimEnd().split(/(?<=\S)(\s+)(?=\S)/)) {
      if (part.trim() !== '') tokens.push({ kind: 'word', text: part, marks });
      else if (part !== '') tokens.push({ kind: 'space', text: part, cut: CUT.word });
    }
    return tokens;
  });
}
