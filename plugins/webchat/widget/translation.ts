import type { Texts } from './texts.ts';

/** Texts by canonical language tag. The first entry is the default. */
export type Translations = Readonly<Record<string, Texts>>;

/** When the service serves the script, it replaces this placeholder with the texts. */
const SERVED = 'agentd-translations' as unknown as Translations;

/**
 * Finds the texts in the language of the site or, if the site names none, of the visitor; otherwise those in the default
 * language. The returned language is that of the site if it names one, otherwise that of the texts.
 */
export function translationFor(site?: string): readonly [language: string, texts: Texts] {
  const wanted = site || navigator.language;
  const tags = [wanted, wanted.slice(0, 2), ...Object.keys(SERVED)];
  const language = tags.find((tag) => SERVED[tag]) as string;
  return [site || language, SERVED[language] as Texts];
}
