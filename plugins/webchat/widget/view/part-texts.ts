import { type Texts, textsWith } from '../texts.ts';

/** When the service serves a part, it replaces this placeholder by the texts of the parts in the default language. */
const SERVED = 'agentd-part-texts' as unknown as Texts;

/** @param texts the texts of the script. In another language than the default, and if the site sets them, they are complete. */
export function withPartTexts(texts: Texts): Texts {
  return textsWith(SERVED, texts);
}
