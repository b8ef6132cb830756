import type { Texts } from './texts.ts';

/** Texts by canonical language tag. The first entry is the default. */
export type Translations = Readonly<Record<string, Texts>>;

/** When the service serves the script, it replaces this placeholder with the texts. */
const SERVED = 'agentd-translations' as unknown as Translations;

/**
 * Returns the texts in the language that the site names. If the site names no language, it is the language of the
 * visitor. If there are no texts in this language, returns the texts in the default language. The returned tag is the
 * language that the site names, otherwise the language of the texts.
 */
export function translationFor(site?: string): readonly [language: string, texts: Texts] {
  const wanted = site || navigator.language;
  const tags = [wanted, wanted.slice(0, 2), ...Object.keys(SERVED)];
  const language = tags.find((tag) => SERVED[tag]) as string;
  return [site || language, SERVED[language] as Texts];
}
