/** Matches ASCII words with single spaces between them, like most messages. Their spellings can differ only in case. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/**
 * The form that two spellings of a text share: trimmed, case-folded, white space collapsed.
 *
 * In lower case, `STRASSE` and `straße` still differ; in upper case, `ẞ` and `ß` differ; and a sigma at the end of a
 * word has another form. Converting to both cases makes all spellings of a word equal.
 */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}
