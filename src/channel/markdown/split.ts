import { segmenter } from '../characters.ts';
import type { Dialect, Mark } from './dialect.ts';
import { type Blank, CUT, type Token, type Word } from './tokens.ts';

/** A message is cut at a good place only if the message is at least this full there; 1 is the limit of the dialect. */
const WORTH_A_MESSAGE = 0.25;
/** Matches visible text: more than white space, controls and invisible characters. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Splits the tokens of a reply into messages within the limits of the dialect. It cuts between paragraphs if possible,
 * otherwise between lines, sentences or words. It cuts a word only if the word does not fit into one message.
 */
export function* split(tokens: readonly Token[], dialect: Dialect): Generator<void, string[]> {
  const messages: string[] = [];
  let from = 0;
  /** The rest of the word at `from`, if the last cut went through it. */
  let rest: Word | null = null;
  while (from < tokens.length) {
    const message = fill(tokens, from, rest, dialect);
    if (message.isVisible) messages.push(message.text);
    ({ next: from, rest } = message);
    yield;
  }
  return messages;
}

interface Message {
  text: string;
  isVisible: boolean;
  /** Index of the next token. */
  next: number;
  rest: Word | null;
}

function fill(tokens: readonly Token[], from: number, rest: Word | null, dialect: Dialect): Message {
  const writer = new Writer(dialect);
  /** For each kind of cut, the last good place for it. */
  const places: (number | undefined)[] = [];
  let isVisible = false;
  for (let at = from; at < tokens.length; at++) {
    const token = at === from && rest !== null ? rest : (tokens[at] as Token);
    if (token.kind !== 'word') {
      writer.blank(token);
      if (isVisible && writer.fill >= WORTH_A_MESSAGE) places[token.cut] = at;
    } else if (writer.add(token)) {
      isVisible ||= VISIBLE.test(token.text);
    } else {
      const place = places[CUT.paragraph] ?? places[CUT.line] ?? places[CUT.sentence] ?? places[CUT.word];
      if (place !== undefined) return upTo(tokens, from, rest, place, dialect);
      const [part, left] = cutWord(writer, token);
      isVisible ||= VISIBLE.test(part);
      const next = left === '' ? { next: at + 1, rest: null } : { next: at, rest: { ...token, text: left } };
      return { text: writer.finish(), isVisible, ...next };
    }
  }
  return { text: writer.finish(), isVisible, next: tokens.length, rest: null };
}

/** Writes the message again, up to a good place for a cut. */
function upTo(
  tokens: readonly Token[],
  from: number,
  rest: Word | null,
  to: number,
  dialect: Dialect,
): Message {
  const writer = new Writer(dialect);
  for (let at = from; at < to; at++) {
    const token = at === from && rest !== null ? rest : (tokens[at] as Token);
    if (token.kind === 'word') writer.add(token);
    else writer.blank(token);
  }
  return { text: writer.finish(), isVisible: true, next: to + 1, rest: null };
}

/**
 * Writes as much of a word as fits, and returns the written part and the rest. It cuts at a word boundary (in scripts
 * without spaces), otherwise between two visible characters, otherwise between two code points, because one visible
 * character can have thousands of marks. It writes nothing if the message is not empty and no character fits.
 */
function cutWord(writer: Writer, word: Word): [part: string, left: string] {
  const { text } = word;
  // No dialect counts a code unit as less than one, so the text beyond the limit cannot fit. Half of a surrogate pair
  // at the end of the head would count as a character, so it must be beyond the limit, too.
  const head = text.slice(0, writer.limit + 2);
  const bounds = boundsIn('grapheme', head);
  const fits = (end: number) => writer.fits({ ...word, text: text.slice(0, end) });
  let end = lastThat(fits, bounds);
  if (end !== 0) {
    const characters = new Set(bounds);
    end = boundsIn('word', head).findLast((at) => at <= end && at > end / 2 && characters.has(at)) ?? end;
  } else if (writer.isEmpty) {
    end = lastThat(fits, codePointsIn(head));
    // The marks alone need all the room, so the word is written without them.
    if (end === 0 && word.marks.length > 0) return cutWord(writer, { ...word, marks: [] });
    if (end === 0) throw new RangeError(`A message of ${writer.limit} characters has no room for text.`);
  } else return ['', text];
  writer.add({ ...word, text: text.slice(0, end) });
  return [text.slice(0, end), text.slice(end)];
}

function boundsIn(granularity: 'grapheme' | 'word', text: string): number[] {
  return Array.from(segmenter(granularity).segment(text), ({ index, segment }) => index + segment.length);
}

function codePointsIn(text: string): number[] {
  let end = 0;
  return Array.from(text, (character) => {
    end += character.length;
    return end;
  });
}

/** The largest of `ends` that fits; 0 if none fits. The ends must be in increasing order. */
function lastThat(fits: (end: number) => boolean, ends: readonly number[]): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(ends[middle - 1] as number)) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? 0 : (ends[low - 1] as number);
}

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
class Writer {
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

    const ends = closeMarks(closing);
    const blank = begins ? '' : breaks ? this.#lineBreaks(marks.slice(0, kept)) : this.#spaces;
    const prefix = begins || breaks ? joinPrefixes(marks) : '';
    const apart = blank === '' && !begins && this.#touches(word.text, closing, opening) ? APART : '';
    const opens = opening.map(({ open }) => open ?? '').join('');
    const guard = (begins || breaks) && this.#isMarkup(word) ? GUARD : '';
    const text = this.#escape(word.text);

    const counted = marksCount ? ends.length + opens.length + text.length : word.text.length;
    const size = this.#size + counted + blank.length + prefix.length + apart.length + guard.length;
    const markup = this.#markup + ends.length + opens.length;
    const opened = this.#marks + opening.filter(({ open }) => open !== undefined).length;
    const end = closeMarks(marks).length;
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
    const empty = `${joinPrefixes(around).trimEnd()}\n`;
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
    return this.#text + closeMarks(this.#open);
  }
}

function closeMarks(marks: readonly Mark[]): string {
  return marks
    .map(({ close }) => close ?? '')
    .toReversed()
    .join('');
}

function joinPrefixes(marks: readonly Mark[]): string {
  return marks.map(({ prefix }) => prefix ?? '').join('');
}
