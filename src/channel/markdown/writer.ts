import type { Dialect, Mark } from './dialect.ts';
import type { Blank, Word } from './tokens.ts';

/** A zero-width space. It separates a mark from a letter, because the platform ignores a mark inside a word. */
const APART = '\u200b';
/** A word joiner before a word that would be markup. No platform treats it as white space. */
const GUARD = '\u2060';
const ENDS_IN_LETTER = /[\p{L}\p{M}\p{N}_]$/u;
const BEGINS_WITH_LETTER = /^[\p{L}\p{M}\p{N}_]/u;

/** Maximum number of line breaks in a row. Code may have more; the others are not shown. */
const MAX_LINES = 50;

interface Written {
  text: string;
  size: number;
  markup: number;
  marks: number;
}

/**
 * Writes one message, word by word. It refuses a word after which the message could not be finished within its
 * limits.
 */
export class Writer {
  readonly #dialect: Dialect;
  #text = '';
  #open: readonly Mark[] = [];
  /** White space since the last word. It is written before the next word. */
  #lines = 0;
  #spaces = '';
  #size = 0;
  #markup = 0;
  #marks = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** How full the message is, from 0 to 1, measured by the limit that is closest to being reached. */
  get fill(): number {
    const { limit, markupLimit = Infinity, markLimit = Infinity } = this.#dialect;
    return Math.max(this.#size / limit, this.#markup / markupLimit, this.#marks / markLimit);
  }

  blank({ kind, text }: Blank): void {
    if (kind === 'space') this.#spaces += text;
    else {
      this.#lines = kind === 'line' ? this.#lines + 1 : Math.max(this.#lines, 2);
      this.#spaces = '';
    }
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  get limit(): number {
    return this.#dialect.limit;
  }

  /** Writes a word. Returns false and writes nothing if the word does not fit. */
  add(word: Word): boolean {
    const next = this.#after(word);
    if (next === null) return false;
    this.#text += next.text;
    this.#open = word.marks;
    this.#lines = 0;
    this.#spaces = '';
    this.#size = next.size;
    this.#markup = next.markup;
    this.#marks = next.marks;
    return true;
  }

  fits(word: Word): boolean {
    return this.#after(word) !== null;
  }

  #after(word: Word): Written | null {
    const { limit, marksCount, markLimit = Infinity, markupLimit = Infinity } = this.#dialect;
    const { marks } = word;
    const begins = this.#text === '';
    const breaks = !begins && this.#lines > 0;
    const kept = this.#keptBefore(word, breaks);
    const closing = this.#open.slice(kept);
    const opening = marks.slice(kept);

    const ends = closed(closing);
    const blank = begins ? '' : breaks ? this.#lineBreaks(marks.slice(0, kept)) : this.#spaces;
    const prefix = begins || breaks ? prefixOf(marks) : '';
    const apart = blank === '' && !begins && this.#touches(word.text, closing, opening) ? APART : '';
    const opens = opening.map(({ open }) => open ?? '').join('');
    const guard = (begins || breaks) && this.#isMarkup(word) ? GUARD : '';
    const text = this.#escape(word.text);

    const counted = marksCount ? ends.length + opens.length + text.length : word.text.length;
    const size = this.#size + counted + blank.length + prefix.length + apart.length + guard.length;
    const markup = this.#markup + ends.length + opens.length;
    const opened = this.#marks + opening.filter(({ open }) => open !== undefined).length;
    const end = closed(marks).length;
    if (size + (marksCount ? end : 0) > limit || markup + end > markupLimit || opened > markLimit)
      return null;
    return { text: ends + blank + prefix + apart + opens + guard + text, size, markup, marks: opened };
  }

  /** Number of marks that stay open for the next word. */
  #keptBefore({ marks }: Word, breaks: boolean): number {
    const differs = this.#open.findIndex((mark, index) => mark !== marks[index]);
    const shared = differs === -1 ? this.#open.length : differs;
    if (!breaks) return shared;
    const ending = this.#open.slice(0, shared).findIndex(({ inLine }) => inLine === true);
    return ending === -1 ? shared : ending;
  }

  /** The line breaks before a word. Empty lines also begin with the prefixes of the marks around them. */
  #lineBreaks(around: readonly Mark[]): string {
    const empty = `${prefixOf(around).trimEnd()}\n`;
    return `\n${empty.repeat(Math.min(this.#lines, MAX_LINES) - 1)}`;
  }

  #touches(text: string, closing: readonly Mark[], opening: readonly Mark[]): boolean {
    const closes = closing.some(({ tight }) => tight === true);
    if (!opening.some(({ tight }) => tight === true)) return closes && BEGINS_WITH_LETTER.test(text);
    return closes || ENDS_IN_LETTER.test(this.#text.slice(-2));
  }

  #isMarkup({ text, marks }: Word): boolean {
    return this.#dialect.lineStart?.test(text) === true && marks.every(({ open }) => open === undefined);
  }

  #escape(text: string): string {
    const { escapes } = this.#dialect;
    return text.replace(/[!-/:-@[-`{-~]/g, (character) => escapes[character] ?? character);
  }

  /** The message with all marks closed. */
  finish(): string {
    return this.#text + closed(this.#open);
  }
}

function closed(marks: readonly Mark[]): string {
  return marks
    .map(({ close }) => close ?? '')
    .toReversed()
    .join('');
}

function prefixOf(marks: readonly Mark[]): string {
  return marks.map(({ prefix }) => prefix ?? '').join('');
}
