import type { Mark } from './dialect.ts';
import { type Blank, CUT, type Ink } from './ink.ts';

/** Ends a sentence, with what may close after it. */
const SENTENCE_END = /[.!?…。！？｡؟۔।]["'”’»)\]]*$/u;
/** Scripts without spaces: a sentence ends within what looks like one word. */
const SENTENCE_WITHIN = /(?<=[。！？｡][”’」』）]?)(?![”’」』）。！？｡])/u;

export const LINE: Blank = { kind: 'line', text: '', cut: CUT.line };
export const PARAGRAPH: Blank = { kind: 'paragraph', text: '', cut: CUT.paragraph };

/** Prose as words and white space; its line breaks stay. */
export function wordsOf(text: string, marks: readonly Mark[]): Ink[] {
  const inks: Ink[] = [];
  for (const part of text.split(/(\n|[^\S\n]+)/)) {
    if (part === '') continue;
    if (part === '\n') inks.push(LINE);
    else if (part.trim() === '') inks.push(space(part, inks.at(-1)));
    else {
      const [first = '', ...others] = part.split(SENTENCE_WITHIN);
      inks.push({ kind: 'word', text: first, marks });
      for (const text of others) {
        inks.push({ kind: 'space', text: '', cut: CUT.sentence }, { kind: 'word', text, marks });
      }
    }
  }
  return inks;
}

function space(text: string, before: Ink | undefined): Blank {
  const ends = before?.kind === 'word' && SENTENCE_END.test(before.text.slice(-8));
  return { kind: 'space', text, cut: ends ? CUT.sentence : CUT.word };
}

/** A block of code: what a line is indented by belongs to its first word, so that no cut takes it away. */
export function codeOf(text: string, marks: readonly Mark[]): Ink[] {
  return text.split('\n').flatMap((line, index) => {
    const inks: Ink[] = index === 0 ? [] : [LINE];
    for (const part of line.trimEnd().split(/(?<=\S)(\s+)(?=\S)/)) {
      if (part.trim() !== '') inks.push({ kind: 'word', text: part, marks });
      else if (part !== '') inks.push({ kind: 'space', text: part, cut: CUT.word });
    }
    return inks;
  });
}
