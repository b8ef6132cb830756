import type { ChannelText, ChannelTranslations } from '../../src/channel/index.ts';
import { CONTINUE_ENGLISH, CONTINUE_LANGUAGES, type ContinueTexts } from './widget/continue/texts.ts';
import { LANGUAGES } from './widget/languages.ts';
import { ENGLISH, type Texts, type Translations, textsWith } from './widget/texts.ts';

type Words = Readonly<Record<string, string>>;

/** The texts that are groups, with the word for one of them. */
const GROUPS = { failures: 'failure', tools: 'tool', outcomes: 'outcome' } as const;
type Group = keyof typeof GROUPS;

/** Identifies a text of the widget: its name, or its group and its name in that group. */
type Place = readonly [name: string] | readonly [group: Group, name: string];

const PLACES: ReadonlyMap<string, Place> = new Map(
  Object.entries(ENGLISH).flatMap(([name, text]): [string, Place][] =>
    typeof text === 'string'
      ? [[`webchat_${snakeCase(name)}`, [name]]]
      : Object.keys(text).map((inner) => [
          `webchat_${GROUPS[name as Group]}_${inner}`,
          [name as Group, inner],
        ]),
  ),
);

/** The texts of the widget that operators can replace. A site can replace them as well (agentd-webchat(7)). */
export const WIDGET_TEXTS: readonly ChannelText[] = [...PLACES].map(([name, place]) => ({
  name,
  sentence: describeText(place),
  default: findEnglish(place),
}));

/** All texts of the widget, in the languages that come with it and in the operator's (widget/translation.ts). */
export function widgetTranslations({ languages, default_locale }: ChannelTranslations): Translations {
  const all = new Map<string, Texts>([['en', ENGLISH], ...Object.entries(LANGUAGES)]);
  for (const [tag, texts] of Object.entries(languages)) {
    const base = all.get(tag) ?? all.get(tag.slice(0, 2)) ?? ENGLISH;
    all.set(tag, textsWith(base, inForm(texts)));
  }
  const wanted = default_locale.toLowerCase().replaceAll('_', '-');
  const first = [wanted, wanted.slice(0, 2)].find((tag) => all.has(tag)) ?? 'en';
  const ordered = [first, ...[...all.keys()].filter((tag) => tag !== first)];
  return Object.fromEntries(ordered.map((tag) => [canonical(tag), all.get(tag) as Texts]));
}

const CONTINUE_PREFIX = 'webchat_continue_';

/** The texts with which a person continues on a chat platform. Operators can replace them. */
export const CONTINUE_TEXTS: readonly ChannelText[] = Object.entries(CONTINUE_ENGLISH).map(
  ([name, text]) => ({
    name: `${CONTINUE_PREFIX}${name}`,
    sentence: `A text of the widget for a person who continues on a chat platform: ${name}.`,
    default: text,
  }),
);

/** All of these texts, by language. */
export function continueTranslations({
  languages,
}: ChannelTranslations): Readonly<Record<string, ContinueTexts>> {
  const all: Record<string, ContinueTexts> = { en: CONTINUE_ENGLISH, ...CONTINUE_LANGUAGES };
  for (const [tag, texts] of Object.entries(languages)) {
    const base = all[tag] ?? all[tag.slice(0, 2)] ?? CONTINUE_ENGLISH;
    const replaced = Object.keys(base).flatMap((name) => {
      const text = texts[`${CONTINUE_PREFIX}${name}`];
      return text === undefined ? [] : [[name, text]];
    });
    all[tag] = { ...base, ...Object.fromEntries(replaced) };
  }
  return all;
}

/** The tag as browsers write it: `pt-BR`. */
function canonical(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    return tag;
  }
}

/** Converts texts from the operator's names to the structure that the widget uses. */
function inForm(texts: Words): Partial<Texts> {
  const words: Record<string, string | Words> = {};
  for (const [name, text] of Object.entries(texts)) {
    const [first = '', second] = PLACES.get(name) ?? [];
    if (second === undefined) words[first] = text;
    else words[first] = { ...(words[first] as Words | undefined), [second]: text };
  }
  return words as Partial<Texts>;
}

function findEnglish([name, inner]: Place): string {
  const text = ENGLISH[name as keyof typeof ENGLISH] as string | Words;
  return typeof text === 'string' ? text : (text[inner ?? ''] ?? '');
}

function describeText([name, inner]: Place): string {
  if (inner === undefined) return `A text of the widget: ${snakeCase(name).replaceAll('_', ' ')}.`;
  if (name === 'outcomes') return `A text of the widget: what became of a question (${inner}).`;
  return name === 'tools'
    ? `A text of the widget: what the tool ${inner} does.`
    : `A text of the widget: why there is no answer (${inner.replaceAll('_', ' ')}).`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
