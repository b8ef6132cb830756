import type { Principal } from '../../identity/identity.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { visible } from './plain-value.ts';
import { escapeMarkdown } from './question.ts';

/** Longest e-mail address (RFC 5321 §4.5.3.1.3). A longer claim is not shown. */
const EMAIL_MAX = 254;

/**
 * The e-mail address of the person for whom an action would be done, as plain text with nothing hidden in it. Null if
 * there is no person, or if other people can read the question.
 */
export function actingAs(principal: Principal, shared: boolean): string | null {
  if (principal.person === null || shared) return null;
  const shown = visible(principal.claims.email);
  return shown.length > EMAIL_MAX ? null : shown;
}

/** The sentence of a question that says for whom it is, in CommonMark; empty if there is no person. */
export function asInWords(principal: Principal, shared: boolean, texts: LocalTexts): string {
  return sentence(principal, shared, texts, escapeMarkdown) ?? '';
}

/** The same sentence as plain text on one line; null if there is no person. */
export function asInPlainWords(principal: Principal, shared: boolean, texts: LocalTexts): string | null {
  return sentence(principal, shared, texts, (email) => email)?.replace(/\s+/g, ' ') ?? null;
}

function sentence(
  principal: Principal,
  shared: boolean,
  texts: LocalTexts,
  write: (email: string) => string,
): string | null {
  if (principal.person === null) return null;
  const email = actingAs(principal, shared);
  return email === null ? texts.say('confirm_as_you') : texts.say('confirm_as', { email: write(email) });
}
