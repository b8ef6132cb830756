/**
 * The form that two spellings of a text share: trimmed, case-folded, white space collapsed.
 *
 * Lower case alone distinguishes `STRASSE` and `straße`, upper case alone `ẞ` and `ß`, and a sigma at the end of a word
 * has another form. Folding through both makes all spellings of a word equal.
 */
export function foldText(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}
