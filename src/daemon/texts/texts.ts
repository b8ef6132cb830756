import { type ChannelText, type ChannelTranslations, fillIn } from '../../channel/index.ts';
import { normalizeAnswer, normalizeWords } from './fold-text.ts';
import { type ProseName, TEXTS, type TextName, type Values, type WordsName } from './text-records.ts';

/** Texts that replace the defaults, by name. */
export type Replacements = Readonly<Record<string, string | readonly string[]>>;

/** The language of the defaults. */
const OWN_LANGUAGE = 'en';

/**
 * The texts that people read but that no agent wrote, by language. A text is looked up under the language tag itself,
 * then under its language (`de` for `de-AT`), then under DEFAULT_LOCALE, and then among the English defaults.
 */
export class Texts {
  readonly #replaced: ReadonlyMap<string, Replacements>;
  readonly #fallback: readonly string[];
  readonly #default_locale: string;
  /** The texts for a person whose language is not known. */
  readonly #default: LocalTexts;
  /** The texts in every language. */
  readonly #all: readonly LocalTexts[];

  /** @param replaced the texts that replace others, keyed by language tag in lower case. */
  constructor(replaced: ReadonlyMap<string, Replacements> = new Map(), default_locale = OWN_LANGUAGE) {
    this.#replaced = replaced;
    this.#default_locale = default_locale;
    this.#fallback = listTags(default_locale);
    this.#default = this.#inLanguage('');
    this.#all = [...new Set([...replaced.keys(), OWN_LANGUAGE])].map((tag) => this.#inLanguage(tag));
  }

  /** Whether there are texts in more than one language, or of another language than that of the defaults. */
  get areTranslated(): boolean {
    return this.#replaced.size > 0;
  }

  /**
   * The texts for one person.
   * @param locales tags of the person's language, the most reliable first. Absent ones are skipped.
   */
  in(...locales: readonly (string | null | undefined)[]): LocalTexts {
    const wanted = locales.find((locale) => locale != null && isKnown(locale, this.#replaced));
    return wanted == null ? this.#default : this.#inLanguage(wanted);
  }

  #inLanguage(locale: string): LocalTexts {
    const tags = [...listTags(locale), ...this.#fallback, OWN_LANGUAGE];
    return new LocalTexts(tags.flatMap((tag) => this.#of(tag)));
  }

  /** The replacements of some texts, by language. */
  translations(names: readonly string[]): ChannelTranslations {
    const languages = [...this.#replaced].flatMap(([tag, texts]) => {
      const own = names.flatMap((name) => (typeof texts[name] === 'string' ? [[name, texts[name]]] : []));
      return own.length === 0 ? [] : [[tag, Object.fromEntries(own)]];
    });
    return { languages: Object.fromEntries(languages), default_locale: this.#default_locale };
  }

  /** Whether a text is a word of this list in any language. */
  isWord(name: WordsName, text: string): boolean {
    const given = normalizeAnswer(text);
    return this.#all.some((texts) => isOneOf(texts.words(name), given));
  }

  /**
   * Whether a text may answer a question, in any language: by a word that confirms or declines it, or by the numbers of
   * a part (`LocalTexts.confirmedPart`).
   */
  isAnswer(text: string): boolean {
    const given = normalizeAnswer(text);
    return this.#all.some(
      (texts) =>
        isOneOf(texts.words('confirm'), given) ||
        isOneOf(texts.words('decline'), given) ||
        confirmedPart(given, partWords(texts), PART_MAX) !== null,
    );
  }

  #of(tag: string): Replacements[] {
    const replaced = this.#replaced.get(tag);
    // The English defaults have a text for every name, so no layer after them is used.
    return [...(replaced ? [replaced] : []), ...(tag === OWN_LANGUAGE ? [DEFAULTS] : [])];
  }
}

/** The texts in the language of one person. */
export class LocalTexts {
  readonly #layers: readonly Replacements[];

  /** @param layers searched in this order. One of them has all texts of the daemon. */
  constructor(layers: readonly Replacements[]) {
    this.#layers = layers;
  }

  say<Name extends ProseName>(
    name: Name,
    ...values: Values<Name> extends Record<string, never> ? [] : [Values<Name>]
  ): string {
    return fillIn(this.template(name), values[0] ?? {});
  }

  sayOwn({ name, default: english }: ChannelText, values: Readonly<Record<string, string>> = {}): string {
    const layer = this.#layers.find((texts) => texts === DEFAULTS || texts[name] !== undefined);
    const text = layer?.[name];
    return fillIn(typeof text === 'string' ? text : english, values);
  }

  /** A text whose placeholders are not filled in. */
  template(name: ProseName): string {
    return this.#find(name) as string;
  }

  /** The words of a list. People see the first one. */
  words(name: WordsName): readonly [string, ...string[]] {
    return this.#find(name) as unknown as readonly [string, ...string[]];
  }

  /**
   * Whether a text is one of the words. Case, outer white space and final punctuation make no difference, but a question
   * of several words is none (`normalizeAnswer`).
   */
  isWord(name: WordsName, text: string): boolean {
    return isOneOf(this.words(name), normalizeAnswer(text));
  }

  /**
   * The numbers of the actions that an answer such as "only 1 and 3" confirms; null for any other text
   * (`confirmedPart`).
   * @param count how many actions the question has
   */
  confirmedPart(text: string, count: number): readonly number[] | null {
    return confirmedPart(normalizeAnswer(text), partWords(this), count);
  }

  #find(name: TextName): string | readonly string[] {
    for (const layer of this.#layers) {
      const text = layer[name];
      if (text !== undefined) return text;
    }
    return TEXTS[name].default;
  }
}

const DEFAULTS: Replacements = Object.fromEntries(
  Object.entries(TEXTS).map(([name, record]) => [name, record.default]),
);

/** The largest number that an answer can name. */
const PART_MAX = 10;

/** @param given a text in the form in which words are compared */
function isOneOf(words: readonly string[], given: string): boolean {
  return given !== '' && normalizeWords(words).has(given);
}

function partWords(texts: LocalTexts): PartWords {
  return {
    only: texts.words('confirm_only'),
    except: texts.words('confirm_except'),
    between: texts.words('confirm_between'),
  };
}

function isKnown(locale: string, replaced: ReadonlyMap<string, Replacements>): boolean {
  return listTags(locale).some((tag) => tag === OWN_LANGUAGE || replaced.has(tag));
}

/** The tags to look up for a locale, such as `de-at` and `de`. Platforms also write `de_AT`. */
function listTags(locale: string): string[] {
  const parts = locale
    .trim()
    .toLowerCase()
    .split(/[-_]/)
    .filter((part) => part !== '');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
}

/** The words by which an answer names some of the numbered actions of a question. */
interface PartWords {
  /** An answer that begins with one of these confirms the numbers that follow. */
  readonly only: readonly string[];
  /** An answer that begins with one of these declines the numbers that follow, and confirms the others. */
  readonly except: readonly string[];
  /** Words between the numbers that mean nothing by themselves. */
  readonly between: readonly string[];
}

/**
 * The numbers that an answer such as "only 1 and 3" or "not 2" confirms, in their order; empty if it declines all of
 * them. Null for any other text: one with a number that the question does not have, a number that is named twice, or
 * any word that is not listed.
 * @param given a text in the form in which words are compared
 * @param count how many actions the question has
 */
function confirmedPart(given: string, words: PartWords, count: number): readonly number[] | null {
  const only = numbersAfter(given, words.only, words.between, count);
  const except = numbersAfter(given, words.except, words.between, count);
  // A text that both lists begin could mean either.
  if ((only === null) === (except === null)) return null;
  const all = Array.from({ length: count }, (_, index) => index + 1);
  return all.filter((number) => (only === null ? !except?.has(number) : only.has(number)));
}

function findOpener(given: string, openers: ReadonlySet<string>): string | null {
  for (const word of openers) if (given[word.length] === ' ' && given.startsWith(word)) return word;
  return null;
}

function numbersAfter(
  given: string,
  openers: readonly string[],
  between: readonly string[],
  count: number,
): ReadonlySet<number> | null {
  const opener = findOpener(given, normalizeWords(openers));
  if (opener === null) return null;
  const skipped = normalizeWords(between);
  const numbers = new Set<number>();
  for (const part of given.slice(opener.length).split(/[\s,;&+]+/)) {
    if (part === '' || skipped.has(part)) continue;
    const number = /^#?(\d{1,2})\.?$/.exec(part)?.[1];
    if (number === undefined) return null;
    const value = Number(number);
    if (value < 1 || value > count || numbers.has(value)) return null;
    numbers.add(value);
  }
  return numbers.size === 0 ? null : numbers;
}
