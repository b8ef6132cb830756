import { stringsIn, textsIn } from '../syntax/json.ts';

/** What was replaced, by its kind. `word`: a part of a name or of a result that looks like a name or a code. */
type ReplacedKind = 'claim' | 'id' | 'email' | 'date' | 'time' | 'number' | 'result' | 'word';

export interface Replaced {
  kind: ReplacedKind;
  value: string;
  placeholder: string;
}

/** Minimum length of a string of a result that is replaced, in characters. */
const RESULT_MIN = 4;
/** Values that are shorter are replaced only as whole words: they would be found within other words. */
const SUBSTRING_MIN = 4;

/** Lengths are bounded, so that no text can make the search slow. */
const EMAIL = String.raw`[^\s@<>()[\],;:"'\x60|]{1,64}@[^\s@<>()[\],;:"'\x60|]{1,189}`;
/** In the digits of any script: a phone number in Arabic digits is one, too. */
const NUMBER = String.raw`\p{Nd}+`;
const DATE = String.raw`(?<!\p{Nd})\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\p{Nd})`;
const MINUTE = String.raw`(?<!\p{Nd})(?:[01]\d|2[0-3]):[0-5]\d(?!\p{Nd})`;
const TIME = String.raw`${MINUTE}(?::[0-5]\d(?!\p{Nd}))?`;
const DIGITS = new RegExp([DATE, MINUTE, NUMBER].join('|'), 'gu');
/** What is found by its form, and is no known value. */
const BY_FORM = [
  ['date', new RegExp(`^${DATE}$`, 'u')],
  ['time', new RegExp(`^${TIME}$`, 'u')],
  ['number', new RegExp(`^${NUMBER}$`, 'u')],
] as const;
const MINUTES_OF_DAY = 24 * 60;
/** A text that is a date with a time. Each of them is replaced by its form. */
const MOMENT = new RegExp(String.raw`^${DATE}[Tt ]${TIME}(?:\.\d+)?(?:[Zz]|[+-]${TIME})?$`, 'u');
/** A claim that may be a name. */
const NAME = /^[\p{L}\p{M}\p{N}' .-]{1,60}$/u;
/** A word that may be a part of a name, or a code: it has a capital letter, a digit, or a letter beyond ASCII. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}_-]+/gu;
const DISTINCTIVE = /[\p{Lu}\p{N}_]|[^\x00-\x7f]|[\p{L}\p{N}]-[\p{L}\p{N}]/u;

/**
 * Replaces what may say who somebody is, or what belongs to them, by placeholders: the same value by the same
 * placeholder throughout, all in one pass, the longest value first. Numbers become other numbers of the same length, and
 * dates and times other ones, so that arguments still fit their schemas. No placeholder is a value that is replaced.
 */
export class Placeholders {
  /** By the value in lower case. */
  readonly #known = new Map<string, Replaced>();
  readonly #counts = new Map<ReplacedKind, number>();
  /** Every number, date and time of the recording. */
  readonly #numbers = new Set<string>();
  readonly #numbered = new Map<number, number>();
  readonly #used = new Set<string>();
  #pattern: RegExp | null = null;

  /** Adds the values of claims, and the parts of names. */
  claim(value: unknown): void {
    for (const text of stringsIn(value)) {
      this.#add('claim', text);
      if (!NAME.test(text)) continue;
      for (const word of text.match(/[\p{L}\p{N}]{2,}/gu) ?? []) this.#add('word', word);
    }
    this.reserveNumbers(value);
  }

  id(value: string | null | undefined): void {
    if (value === null || value === undefined) return;
    this.#add('id', value);
    this.reserveNumbers(value);
  }

  /** Adds the strings of a result, and the words in them that look like names or codes. */
  result(value: unknown): void {
    for (const text of stringsIn(value)) {
      if (MOMENT.test(text)) continue;
      if (text.trim().length >= RESULT_MIN) this.#add('result', text);
      for (const word of text.match(WORD) ?? [])
        if (word.length >= RESULT_MIN && DISTINCTIVE.test(word)) this.#add('word', word);
    }
    this.reserveNumbers(value);
  }

  /**
   * Notes the numbers, dates and times of a text or of a value, so that no placeholder is one of them. Call it before
   * `replace`.
   */
  reserveNumbers(value: unknown): void {
    for (const text of textsIn(value))
      for (const number of text.match(DIGITS) ?? []) this.#numbers.add(number);
  }

  /** A copy of a value, with placeholders in its texts, its numbers and the names of its members. */
  replaced<T>(value: T): T {
    return this.#replaced(value) as T;
  }

  /** What was replaced, in the order of its first replacement. */
  get used(): Replaced[] {
    return [...this.#known.entries()].flatMap(([key, one]) => (this.#used.has(key) ? [one] : []));
  }

  /** The values that are still in a text. */
  left(value: unknown): string[] {
    const placeholders = [...this.#known.values()].map(({ placeholder }) => placeholder);
    const isPlaceholder = new RegExp(placeholders.sort(longestFirst).map(escaped).join('|') || '(?!)', 'gu');
    const found = textsIn(value).flatMap((text) => {
      const rest = text.normalize().replace(isPlaceholder, '\u0000');
      return rest.match(this.#compiled()) ?? [];
    });
    return [...new Set(found)];
  }

  #replaced(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') return this.#number(value);
    if (Array.isArray(value)) return value.map((entry) => this.#replaced(entry));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.#text(name), this.#replaced(member)]),
    );
  }

  #text(text: string): string {
    // The same letter can be one character, or a letter and its accent.
    return text.normalize().replace(this.#compiled(), (found) => this.#toPlaceholder(found));
  }

  #number(value: number): number {
    const written = String(value);
    const other = Number(this.#text(written));
    // For example 1e+21, which has no digits that could be replaced one by one.
    return Number.isFinite(other) ? other : 0;
  }

  #toPlaceholder(found: string): string {
    const key = found.toLowerCase();
    let known = this.#known.get(key);
    if (!known) {
      const kind = BY_FORM.find(([, form]) => form.test(found))?.[0] ?? 'email';
      known = { kind, value: found, placeholder: this.#newPlaceholder(kind, found) };
      this.#known.set(key, known);
    }
    this.#used.add(key);
    return known.placeholder;
  }

  /** One pattern for everything: what matches first at a place is the longest known value there. */
  #compiled(): RegExp {
    if (this.#pattern === null) {
      const values = [...this.#known.values()]
        .map(({ value }) => value)
        .filter((value) => !BY_FORM.some(([, form]) => form.test(value)))
        .sort(longestFirst);
      const literals = (hasAddress: boolean) =>
        values
          .filter((value) => value.includes('@') === hasAddress)
          .map((value) => (value.length >= SUBSTRING_MIN ? escaped(value) : whole(escaped(value))));
      // Part of an address may be a known value, too.
      this.#pattern = new RegExp(
        [...literals(true), EMAIL, ...literals(false), DATE, TIME, NUMBER].join('|'),
        'giu',
      );
    }
    return this.#pattern;
  }

  #add(kind: ReplacedKind, given: string): void {
    const value = given.normalize().trim();
    const key = value.toLowerCase();
    // Numbers and texts without a letter are replaced by their digits.
    if (!/\p{L}/u.test(value) || this.#known.has(key)) return;
    this.#known.set(key, { kind, value, placeholder: this.#newPlaceholder(kind, value) });
    this.#pattern = null;
  }

  #newPlaceholder(kind: ReplacedKind, value: string): string {
    if (kind === 'number') return this.#newNumber(value.length);
    // A time with seconds is the same minute as the time without them.
    if (kind === 'time' && value.length > 5) return `${this.#toPlaceholder(value.slice(0, 5))}:00`;
    if (kind === 'date' || kind === 'time') return this.#newMoment(kind);
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    const letters = toLetters(count);
    if (kind === 'email' || /^\S+@\S+$/.test(value)) return `${kind}-${letters.toLowerCase()}@example.com`;
    return `${kind.toUpperCase()}_${letters}`;
  }

  /** A date or a minute that is not in the recording: the last ones of the year 9999, in backward order. */
  #newMoment(kind: 'date' | 'time'): string {
    for (let count = this.#counts.get(kind) ?? 0; count < MINUTES_OF_DAY; count++) {
      this.#counts.set(kind, count + 1);
      const moment = new Date(
        kind === 'date' ? Date.UTC(9999, 11, 31 - count) : Date.UTC(9999, 11, 31, 23, 59 - count),
      ).toISOString();
      const written = kind === 'date' ? moment.slice(0, 10) : moment.slice(11, 16);
      if (!this.#numbers.has(written)) return written;
    }
    return this.#newNumber(4);
  }

  /** A number with as many digits that is no number of the recording. If there is none, it has more digits. */
  #newNumber(digits: number): string {
    for (let length = digits; ; length++) {
      const from = this.#numbered.get(length) ?? 10 ** Math.min(length, 15) - 1;
      for (
        let candidate = from;
        candidate >= (length === 1 ? 1 : 10 ** (Math.min(length, 15) - 1));
        candidate--
      ) {
        const written = String(candidate).padStart(length, '9');
        this.#numbered.set(length, candidate - 1);
        if (!this.#numbers.has(written)) return written;
      }
    }
  }
}

/** 0 is A, 25 is Z, 26 is AA. */
function toLetters(count: number): string {
  const letter = String.fromCharCode(65 + (count % 26));
  return count < 26 ? letter : toLetters(Math.floor(count / 26) - 1) + letter;
}

function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Matches only between characters that belong to no word. */
function whole(pattern: string): string {
  return String.raw`(?<![\p{L}\p{N}])${pattern}(?![\p{L}\p{N}])`;
}
