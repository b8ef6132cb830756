import { hash } from 'node:crypto';

/**
 * A hash that equal texts share: trimmed, case-folded, white space collapsed (decisions §7). The guard keeps
 * nothing else of a text.
 */
export function textHash(text: string): string {
  return hash('sha256', folded(text), 'base64url');
}

/**
 * Lower case alone tells apart `STRASSE` and `straße`, upper case alone `ẞ` and `ß`, and a sigma is written
 * otherwise at the end of a word: through both, all writings of one word meet.
 */
function folded(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}
