import { normalizeWords } from './fold-text.ts';

/** The words by which an answer names some of the numbered actions of a question. */
export interface PartWords {
  /** An answer that begins with one of these confirms the numbers that follow. */
  readonly only: readonly string[];
  /** An answer that begins with one of these declines the numbers that follow, and confirms the others. */
  readonly except: readonly string[];
  /** Words between the numbers that mean nothing by themselves. */
  readonly between: readonly string[];
}

/**
 * The numbers that an answer such as "only 1 and 3" or "not 2" confirms, in their order; empty if it declines all of
 * them. Null for any other text: one with a number that the question does not have, a number that is named twice, or
 * any word that is not listed.
 * @param given a text in the form in which words are compared
 * @param count how many actions the question has
 */
export function confirmedPart(given: string, words: PartWords, count: number): readonly number[] | null {
  const only = numbersAfter(given, words.only, words.between, count);
  const except = numbersAfter(given, words.except, words.between, count);
  // A text that both lists begin could mean either.
  if ((only === null) === (except === null)) return null;
  const all = Array.from({ length: count }, (_, index) => index + 1);
  return all.filter((number) => (only === null ? !except?.has(number) : only.has(number)));
}

function findOpener(given: string, openers: ReadonlySet<string>): string | null {
  for (const word of openers) if (given[word.length] === ' ' && given.startsWith(word)) return word;
  return null;
}

function numbersAfter(
  given: string,
  openers: readonly string[],
  between: readonly string[],
  count: number,
): ReadonlySet<number> | null {
  const opener = findOpener(given, normalizeWords(openers));
  if (opener === null) return null;
  const skipped = normalizeWords(between);
  const numbers = new Set<number>();
  for (const part of given.slice(opener.length).split(/[\s,;&+]+/)) {
    if (part === '' || skipped.has(part)) continue;
    const number = /^#?(\d{1,2})\.?$/.exec(part)?.[1];
    if (number === undefined) return null;
    const value = Number(number);
    if (value < 1 || value > count || numbers.has(value)) return null;
    numbers.add(value);
  }
  return numbers.size === 0 ? null : numbers;
}
