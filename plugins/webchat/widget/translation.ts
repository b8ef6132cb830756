import type { Texts } from './texts.ts';

/** Texts by canonical language tag; the first ones are for who has no other. */
export type Translations = Readonly<Record<string, Texts>>;

/** The service writes the texts in the place of this name when it serves the script. */
const SERVED = 'agentd-translations' as unknown as Translations;

/** The language of the site, else of the visitor, else of the service; and the texts in it. */
export function translationFor(site?: string): readonly [language: string, texts: Texts] {
  const wanted = site || navigator.language;
  const tags = [wanted, wanted.slice(0, 2), ...Object.keys(SERVED)];
  const language = tags.find((tag) => SERVED[tag]) as string;
  return [site || language, SERVED[language] as Texts];
}
