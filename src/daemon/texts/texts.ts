import { type ChannelText, type ChannelTranslations, fillIn } from '../../channel/index.ts';
import { foldText } from '../fold-text.ts';
import { type ProseName, TEXTS, type TextName, type Values, type WordsName } from './text-records.ts';

/** Texts that replace the defaults, by name. */
export type Replacements = Readonly<Record<string, string | readonly string[]>>;

/** The language of the defaults. */
const OWN_LANGUAGE = 'en';

/**
 * The texts that people read and no agent wrote, by language. A language tag finds the texts of the tag itself, then those
 * of its language (`de` for `de-AT`), then those of DEFAULT_LOCALE, then the English defaults.
 */
export class Texts {
  readonly #replaced: ReadonlyMap<string, Replacements>;
  readonly #fallback: readonly string[];
  readonly #default_locale: string;

  /** @param replaced by language tag in lower case. */
  constructor(replaced: ReadonlyMap<string, Replacements> = new Map(), default_locale = OWN_LANGUAGE) {
    this.#replaced = replaced;
    this.#default_locale = default_locale;
    this.#fallback = tagsOf(default_locale);
  }

  /**
   * The texts for one person.
   * @param locales tags of the person's language, the surest first. Absent ones are skipped.
   */
  in(...locales: readonly (string | null | undefined)[]): LocalTexts {
    const wanted = locales.find((locale) => locale != null && isKnown(locale, this.#replaced));
    const tags = [...tagsOf(wanted ?? ''), ...this.#fallback, OWN_LANGUAGE];
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
    const lists = [...this.#replaced.values(), DEFAULTS].map((texts) => texts[name] ?? []);
    return lists.some((words) => isOneOf(words, text));
  }

  #of(tag: string): Replacements[] {
    const replaced = this.#replaced.get(tag);
    // English has a text for every name, so nothing behind it is looked at.
    return [...(replaced ? [replaced] : []), ...(tag === OWN_LANGUAGE ? [DEFAULTS] : [])];
  }
}

/** The texts in the language of one person. */
export class LocalTexts {
  readonly #layers: readonly Replacements[];

  /** @param layers the first one that has a text wins; the last one has all. */
  constructor(layers: readonly Replacements[]) {
    this.#layers = layers;
  }

  say<Name extends ProseName>(
    name: Name,
    ...values: Values<Name> extends Record<string, never> ? [] : [Values<Name>]
  ): string {
    return fillIn(this.template(name), values[0] ?? {});
  }

  /** A text of a channel. */
  sayOwn({ name, default: english }: ChannelText, values: Readonly<Record<string, string>> = {}): string {
    const layer = this.#layers.find((texts) => texts === DEFAULTS || texts[name] !== undefined);
    const text = layer?.[name];
    return fillIn(typeof text === 'string' ? text : english, values);
  }

  /** A text with its placeholders as they are. */
  template(name: ProseName): string {
    return this.#find(name) as string;
  }

  /** The words of a list; the first one is shown to people. */
  words(name: WordsName): readonly [string, ...string[]] {
    return this.#find(name) as unknown as readonly [string, ...string[]];
  }

  /** Whether a text is one of the words: trimmed, case-folded, without its final punctuation. */
  isWord(name: WordsName, text: string): boolean {
    return isOneOf(this.words(name), text);
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

/** It begins only where a run of signs begins: else a long run that is not the last would be read once for each sign. */
const FINAL_SIGNS = /(?<![\p{P}\s])[\p{P}\s]+$/u;

/** The form in which words are compared. */
export function wordOf(text: string): string {
  return foldText(text.replace(FINAL_SIGNS, ''));
}

function isOneOf(words: string | readonly string[], text: string): boolean {
  const given = wordOf(text);
  return given !== '' && [words].flat().some((word) => wordOf(word) === given);
}

function isKnown(locale: string, replaced: ReadonlyMap<string, Replacements>): boolean {
  return tagsOf(locale).some((tag) => tag === OWN_LANGUAGE || replaced.has(tag));
}

/** `de-at`, `de`. Platforms also write `de_AT`. */
function tagsOf(locale: string): string[] {
  const parts = locale
    .trim()
    .toLowerCase()
    .split(/[-_]/)
    .filter((part) => part !== '');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
}
