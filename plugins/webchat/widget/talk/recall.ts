import type { Kept, Memory } from './memory.ts';
import { identifyPerson, type TokenSource } from './token.ts';

export interface RecallParts {
  memory: Memory;
  tokens: TokenSource;
  /** The site's id for the visitor. Null if the widget should generate one for each conversation. */
  user_id: string | null;
}

/**
 * Returns the stored conversation if it belongs to whoever is signed in now. Null if there is none, or if the site could
 * not say who is signed in: then nothing is shown, and nothing is deleted. `foreign` if it belongs to somebody else.
 */
export async function recallOwn({ memory, tokens, user_id }: RecallParts): Promise<Kept | 'foreign' | null> {
  let person = memory.needsPerson ? identifyPerson(await tokens.current()) : null;
  const kept = memory.needsPerson && !tokens.isKnown ? null : await memory.recall(person);
  if (kept === null) return null;
  if (kept.person !== null) person = identifyPerson(await tokens.current());
  const own = user_id === null || user_id === kept.user_id;
  return own && (kept.person === null || person === kept.person) ? kept : 'foreign';
}
