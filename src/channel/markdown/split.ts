import type { Dialect } from './dialect.ts';
import { CUT, type Ink, type Word } from './ink.ts';
import { Writer } from './writer.ts';

/** A better place for a cut is taken only where the message is this full by then. */
const WORTH_A_MESSAGE = 0.25;
/** Of text something is seen: not white space, controls, or characters without a shape. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * The messages of a reply, each within the limits of the dialect and complete in itself: cut between paragraphs,
 * else lines, else sentences, else words; within a word only where it would not fit a message.
 */
export function* split(inks: readonly Ink[], dialect: Dialect): Generator<void, string[]> {
  const messages: string[] = [];
  let from = 0;
  /** What is left of the word at `from`, where the last cut went through it. */
  let rest: Word | null = null;
  while (from < inks.length) {
    const message = fill(inks, from, rest, dialect);
    if (message.isVisible) messages.push(message.text);
    ({ next: from, rest } = message);
    yield;
  }
  return messages;
}

interface Message {
  text: string;
  isVisible: boolean;
  /** Where the one after it begins. */
  next: number;
  rest: Word | null;
}

function fill(inks: readonly Ink[], from: number, rest: Word | null, dialect: Dialect): Message {
  const writer = new Writer(dialect);
  /** The last good place for a cut of each kind. */
  const places: (number | undefined)[] = [];
  let isVisible = false;
  for (let at = from; at < inks.length; at++) {
    const ink = at === from && rest !== null ? rest : (inks[at] as Ink);
    if (ink.kind !== 'word') {
      writer.blank(ink);
      if (isVisible && writer.fill >= WORTH_A_MESSAGE) places[ink.cut] = at;
    } else if (writer.add(ink)) {
      isVisible ||= VISIBLE.test(ink.text);
    } else {
      const place = places[CUT.paragraph] ?? places[CUT.line] ?? places[CUT.sentence] ?? places[CUT.word];
      if (place !== undefined) return upTo(inks, from, rest, place, dialect);
      const [part, left] = cutWord(writer, ink);
      isVisible ||= VISIBLE.test(part);
      const next = left === '' ? { next: at + 1, rest: null } : { next: at, rest: { ...ink, text: left } };
      return { text: writer.finish(), isVisible, ...next };
    }
  }
  return { text: writer.finish(), isVisible, next: inks.length, rest: null };
}

/** The message again, ending at a place where it had room. */
function upTo(inks: readonly Ink[], from: number, rest: Word | null, to: number, dialect: Dialect): Message {
  const writer = new Writer(dialect);
  for (let at = from; at < to; at++) {
    const ink = at === from && rest !== null ? rest : (inks[at] as Ink);
    if (ink.kind === 'word') writer.add(ink);
    else writer.blank(ink);
  }
  return { text: writer.finish(), isVisible: true, next: to + 1, rest: null };
}

const GRAPHEMES = new Intl.Segmenter('und', { granularity: 'grapheme' });
const WORDS = new Intl.Segmenter('und', { granularity: 'word' });

/**
 * Writes as much of a word as there is room for, and tells what was written and what is left. It is cut where a
 * script without spaces has a word boundary, else between two characters as people see them, else (one such
 * character may have thousands of marks) between two code points. Writes nothing where the message holds
 * something already and not even one character fits.
 */
function cutWord(writer: Writer, word: Word): [part: string, left: string] {
  const { text } = word;
  // No dialect writes a code unit as less than one: what is beyond the limit cannot fit.
  const head = text.slice(0, writer.limit + 1);
  const bounds = boundsIn(GRAPHEMES, head);
  const fits = (end: number) => writer.fits({ ...word, text: text.slice(0, end) });
  let end = lastThat(fits, bounds);
  if (end !== 0) {
    const characters = new Set(bounds);
    end = boundsIn(WORDS, head).findLast((at) => at <= end && at > end / 2 && characters.has(at)) ?? end;
  } else if (writer.isEmpty) {
    end = lastThat(fits, codePointsIn(head));
    // The marks alone take all the room.
    if (end === 0 && word.marks.length > 0) return cutWord(writer, { ...word, marks: [] });
    if (end === 0) throw new RangeError(`A message of ${writer.limit} characters has no room for text.`);
  } else return ['', text];
  writer.add({ ...word, text: text.slice(0, end) });
  return [text.slice(0, end), text.slice(end)];
}

function boundsIn(segmenter: Intl.Segmenter, text: string): number[] {
  return Array.from(segmenter.segment(text), ({ index, segment }) => index + segment.length);
}

function codePointsIn(text: string): number[] {
  let end = 0;
  return Array.from(text, (character) => {
    end += character.length;
    return end;
  });
}

/** The last of the ends, in growing order, that fits; 0 where none does. */
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
