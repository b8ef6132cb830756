import { styleText } from 'node:util';
import { measureWidth } from '../channel/characters.ts';
import { withoutControls } from '../daemon/admin/texts.ts';

/** Text with the same look throughout. */
export interface Span {
  readonly text: string;
  readonly formats?: readonly Format[];
  /** Where a click leads: printable ASCII. */
  readonly url?: string;
}

export type Format =
  | 'bold'
  | 'dim'
  | 'italic'
  | 'strikethrough'
  | 'cyan'
  | 'green'
  | 'yellow'
  | 'red'
  | 'gray';

/** What the terminal takes. */
export interface Look {
  /** Longest line, columns. */
  readonly width: number;
  readonly color: boolean;
  /** Links that people can click (OSC 8). */
  readonly links: boolean;
}

export type Line = readonly Span[];

/** One line, as it is written to the terminal. This is the only place that makes escape sequences of a text. */
export function paint(spans: Line, { color, links }: Pick<Look, 'color' | 'links'>): string {
  return joinSpans(spans)
    .map(({ text, formats = [], url }) => {
      const safe = withoutControls(text);
      const styled =
        color && formats.length > 0 ? styleText([...formats], safe, { validateStream: false }) : safe;
      return links && url !== undefined ? `\u{1b}]8;;${url}\u{1b}\\${styled}\u{1b}]8;;\u{1b}\\` : styled;
    })
    .join('');
}

function joinSpans(spans: readonly Span[]): Span[] {
  const runs: Span[] = [];
  for (const span of spans) {
    const last = runs.at(-1);
    if (last && looksLike(last, span)) runs[runs.length - 1] = { ...last, text: last.text + span.text };
    else runs.push(span);
  }
  return runs;
}

function looksLike(one: Span | undefined, other: Span | undefined): boolean {
  return one?.url === other?.url && (one?.formats ?? []).join() === (other?.formats ?? []).join();
}

/** The escape sequences that `paint` writes. */
export const PAINTED = /\u{1b}\[\d+m|\u{1b}\]8;;[ -~]*\u{1b}\\/gu;

/** Columns of a painted line. */
export function paintedWidth(line: string): number {
  return measureWidth(line.replace(PAINTED, ''));
}

export function spansWidth(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + measureWidth(text), 0);
}

/** A word may have several looks, such as a word of which one half is bold. */
type Word = readonly Span[];

/**
 * Lines of at most `width` columns, broken at white space; line feeds are kept. A longer word gets its own line and is
 * not broken, since people copy ids and addresses. Only a text in a script without spaces is broken within.
 */
export function wrapSpans(spans: readonly Span[], width: number): Span[][] {
  const lines: Span[][] = [];
  let line: Span[] = [];
  let used = 0;
  const end = () => {
    lines.push(line);
    line = [];
    used = 0;
  };
  for (const word of splitWords(spans)) {
    if (word === '\n') {
      end();
      continue;
    }
    for (const piece of spansWidth(word) > width ? splitWord(word, width) : [word]) {
      const length = spansWidth(piece);
      if (used > 0 && used + 1 + length > width && piece === word) end();
      else if (used > 0 && piece !== word) end();
      if (used > 0) {
        const [first] = piece;
        line.push(blank(line.at(-1), first));
        used++;
      }
      line.push(...piece);
      used += length;
    }
  }
  end();
  return lines;
}

/** A space between two words that look the same looks like them. */
function blank(before: Span | undefined, after: Span | undefined): Span {
  return looksLike(before, after) ? { ...before, text: ' ' } : { text: ' ' };
}

function splitWords(spans: readonly Span[]): (Word | '\n')[] {
  const words: (Word | '\n')[] = [];
  let word: Span[] = [];
  const end = () => {
    if (word.length > 0) words.push(word);
    word = [];
  };
  for (const span of spans) {
    for (const part of span.text.split(/(\s+)/)) {
      if (part.trim() !== '') word.push({ ...span, text: part });
      else if (part !== '') {
        end();
        for (let count = part.split('\n').length - 1; count > 0; count--) words.push('\n');
      }
    }
  }
  end();
  return words;
}

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function splitWord(word: Word, width: number): Word[] {
  if (!word.some(({ text }) => SPACELESS.test(text))) return [word];
  const pieces: Word[] = [];
  let piece: Span[] = [];
  let used = 0;
  for (const span of word) {
    for (const character of span.text) {
      const columns = measureWidth(character);
      if (used + columns > width) {
        pieces.push(piece);
        piece = [];
        used = 0;
      }
      piece.push({ ...span, text: character });
      used += columns;
    }
  }
  return [...pieces, piece];
}
