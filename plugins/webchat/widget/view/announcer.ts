import { parseMarkdown } from '../markdown/parse.ts';
import { wordsOf } from '../markdown/tree.ts';
import { h } from './dom.ts';

/** Lines that are kept; what was said long ago need not be there. */
const MAX_LINES = 20;
/** The end of a sentence or of a line, with what closes it. */
const END = /[.!?…。！？؟۔]["'”’»)\]*_`~]*(?=\s)|\n/g;

/**
 * Tells people who hear the page what happens: whole sentences as they are finished, never a word twice. The
 * transcript itself is silent, since it changes with every piece of a sentence.
 */
export class Announcer {
  readonly element = h('div', {
    class: 'heard',
    'aria-live': 'polite',
    role: 'log',
  });
  #entry = 0;
  /** How far the entry's text has been told, characters. */
  #told = 0;

  /** @param label name of the log, for those who look through the page's parts */
  constructor(label: string) {
    this.element.setAttribute('aria-label', label);
  }

  /** The text of an entry so far; sentences that are complete are told. */
  grow(entry: number, text: string, done: boolean): void {
    // An undo brings entries back that were told before.
    if (entry < this.#entry) return;
    if (entry !== this.#entry) {
      this.#entry = entry;
      this.#told = 0;
    }
    const fresh = text.slice(this.#told);
    const end = done ? fresh.length : endOfSentences(fresh);
    if (end === 0) return;
    this.#told += end;
    this.say(wordsOf(parseMarkdown(fresh.slice(0, end))));
  }

  /** Nothing of this entry is to be told: it was there before. */
  skip(entry: number, text: string): void {
    this.#entry = entry;
    this.#told = text.length;
  }

  say(words: string): void {
    const line = words.replace(/\s+/g, ' ').trim();
    if (line === '') return;
    this.element.append(h('p', {}, line));
    if (this.element.childElementCount > MAX_LINES) this.element.firstElementChild?.remove();
  }
}

function endOfSentences(text: string): number {
  let end = 0;
  for (const { index, 0: mark } of text.matchAll(END)) end = index + mark.length;
  return end;
}
