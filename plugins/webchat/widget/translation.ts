import type { Texts } from './texts.ts';

/** Texts by canonical language tag. The first entry is the default. */
export type Translations = Readonly<Record<string, Texts>>;

/** When the service serves the script, it replaces this name with the texts. */
const SERVED = 'agentd-translations' as unknown as Translations;

/** The language of the site, else of the visitor, else of the service; and the texts in it. */
export function translationFor(site?: string): readonly [language: string, texts: Texts] {
  const wanted = site || navigator.language;
  const tags = [wanted, wanted.slice(0, 2), ...Object.keys(SERVED)];
  const language = tags.find((tag) => SERVED[tag]) as string;
  return [site || language, SERVED[language] as Texts];
}
