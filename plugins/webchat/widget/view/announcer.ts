import { parseMarkdown } from '../markdown/parse.ts';
import { wordsOf } from '../markdown/tree.ts';
import { h } from './dom.ts';

/** Maximum number of lines in the log. */
const MAX_LINES = 20;
/** The end of a sentence or a line, with closing quotes and brackets. */
const END = /[.!?…。！？؟۔]["'”’»)\]*_`~]*(?=\s)|\n/g;

/**
 * Announces new text to screen readers: sentences when they are complete, and no word twice. The transcript itself is
 * not announced, because it changes with each piece of a sentence.
 */
export class Announcer {
  readonly element = h('div', {
    class: 'heard',
    'aria-live': 'polite',
    role: 'log',
  });
  #entry = 0;
  /** How many characters of the entry have been announced. */
  #told = 0;

  /** @param label name of the log, for people who navigate the page by landmarks */
  constructor(label: string) {
    this.element.setAttribute('aria-label', label);
  }

  /** Announces the sentences of an entry that are now complete. */
  grow(entry: number, text: string, done: boolean): void {
    // The entry was announced before: an undo has restored it.
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

  /** Treats the text of this entry as announced, because it is not new. */
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
