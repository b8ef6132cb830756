import type { Dialect, Mark } from './dialect.ts';
import type { Blank, Word } from './ink.ts';

/** Stands between a mark and a letter, where the two would not be told apart: a zero-width space. */
const APART = '\u200b';
/** Stands before a word that would be markup: a word joiner, which is white space to nobody. */
const GUARD = '\u2060';
const ENDS_IN_LETTER = /[\p{L}\p{M}\p{N}_]$/u;
const BEGINS_WITH_LETTER = /^[\p{L}\p{M}\p{N}_]/u;

/** Writes one message word by word, and takes no word with which it could not be finished within its limits. */
export class Writer {
  readonly #dialect: Dialect;
  #text = '';
  #open: readonly Mark[] = [];
  /** White space since the last word; it is written when a word follows. */
  #lines = 0;
  #spaces = '';
  #size = 0;
  #bytes = 0;
  #marks = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Of the room, from 0 to 1, by the scarcest measure. */
  get fill(): number {
    const { limit, byteLimit = Infinity, markLimit = Infinity } = this.#dialect;
    return Math.max(this.#size / limit, this.#bytes / byteLimit, this.#marks / markLimit);
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

  /** False: there is no room for it, and nothing was written. */
  add(word: Word): boolean {
    const next = this.#after(word);
    if (next === null) return false;
    this.#text += next.written;
    this.#open = word.marks;
    this.#lines = 0;
    this.#spaces = '';
    this.#size = next.size;
    this.#bytes = next.bytes;
    this.#marks = next.marks;
    return true;
  }

  fits(word: Word): boolean {
    return this.#after(word) !== null;
  }

  #after({ text, marks }: Word): { written: string; size: number; bytes: number; marks: number } | null {
    const {
      limit,
      marksCount,
      byteLimit = Infinity,
      markLimit = Infinity,
      escapes,
      lineStart,
    } = this.#dialect;
    const begins = this.#text === '';
    const breaks = !begins && this.#lines > 0;
    const blank = begins ? '' : breaks ? '\n' : this.#spaces;
    const same = sharedBy(this.#open, marks);
    const common = breaks ? marks.slice(0, same).findIndex(({ inLine }) => inLine === true) : -1;
    const kept = common === -1 ? same : common;
    const atLineStart = begins || breaks;
    const prefixes = atLineStart ? marks.map(({ prefix }) => prefix ?? '').join('') : '';

    let markup = '';
    let words = '';
    const put = (piece: string, isMarkup: boolean): void => {
      written += piece;
      if (isMarkup) markup += piece;
      else words += piece;
    };
    let written = '';
    const closing = this.#open.slice(kept);
    put(closed(closing), true);
    const wasTight = closing.some(({ tight }) => tight === true);
    if (breaks) {
      const between = marks
        .slice(0, kept)
        .map(({ prefix }) => prefix ?? '')
        .join('')
        .trimEnd();
      put(`\n${`${between}\n`.repeat(Math.min(this.#lines, 50) - 1)}`, false);
    } else put(blank, false);
    const opening = marks.slice(kept);
    const isTight = opening.some(({ tight }) => tight === true);
    put(prefixes, false);
    const touches = !atLineStart && blank === '';
    if (touches) {
      const parts = isTight
        ? wasTight || ENDS_IN_LETTER.test((this.#text + written).slice(-2))
        : wasTight && BEGINS_WITH_LETTER.test(text);
      if (parts) put(APART, false);
    }
    put(opening.map(({ open }) => open ?? '').join(''), true);
    if (atLineStart && lineStart?.test(text) && !marks.some(({ plain }) => plain)) put(GUARD, false);
    const escaped = text.replace(/[!-/:-@[-`{-~]/g, (character) => escapes[character] ?? character);
    written += escaped;
    words += marksCount ? escaped : text;

    const end = closed(marks);
    const size = this.#size + words.length + (marksCount ? markup.length : 0);
    const bytes = this.#bytes + (byteLimit === Infinity ? 0 : Buffer.byteLength(written));
    const opened = this.#marks + opening.filter(({ open }) => open !== undefined).length;
    if (size + (marksCount ? end.length : 0) > limit) return null;
    if (bytes + end.length > byteLimit || opened > markLimit) return null;
    return { written, size, bytes, marks: opened };
  }

  /** The message, with every mark closed. */
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

/** How many marks, the outermost first, two words stand in together. */
function sharedBy(one: readonly Mark[], other: readonly Mark[]): number {
  const differs = one.findIndex((mark, index) => mark !== other[index]);
  return differs === -1 ? one.length : differs;
}
