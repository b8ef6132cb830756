import { hash } from 'node:crypto';

/**
 * A hash that equal texts share: trimmed, case-folded, white space collapsed. The guard stores nothing else of a
 * text.
 */
export function textHash(text: string): string {
  return hash('sha256', folded(text), 'base64url');
}

/**
 * Lower case alone distinguishes `STRASSE` and `straße`, upper case alone `ẞ` and `ß`, and a sigma at the end of a
 * word has another form. Folding through both makes all spellings of a word equal.
 */
function folded(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}
