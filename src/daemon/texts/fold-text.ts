/**
 * Matches punctuation and white space at the end. A match starts only at the first character of such a sequence.
 * Otherwise a long sequence in the middle would be scanned from each of its characters.
 */
const FINAL_SIGNS = /(?<![\p{P}\s])[\p{P}\s]+$/u;

/** Question marks of all scripts that have one of their own, and two signs that contain one. */
const QUESTION_MARK = /[?\u037e\u055e\u061f\u1367\u2047-\u2049\u203d\u2cfa\u2cfb\ua60f\ua6f7\ufe56\uff1f]/u;

/** The form in which words are compared. */
export function normalizeWord(text: string): string {
  return foldText(text.replace(FINAL_SIGNS, ''));
}

/**
 * An answer in the form in which words are compared. Empty for a question of several words, such as `only 1?`, so that it
 * answers nothing; `yes?` is an answer.
 */
export function normalizeAnswer(text: string): string {
  const word = normalizeWord(text);
  const isQuestion = QUESTION_MARK.test(FINAL_SIGNS.exec(text)?.[0] ?? '');
  return isQuestion && word.includes(' ') ? '' : word;
}

/** The words of each list that was used, in the form in which they are compared. */
const normalized = new WeakMap<readonly string[], ReadonlySet<string>>();

export function normalizeWords(words: readonly string[]): ReadonlySet<string> {
  let known = normalized.get(words);
  if (known === undefined) {
    known = new Set(words.map(normalizeWord));
    normalized.set(words, known);
  }
  return known;
}

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
