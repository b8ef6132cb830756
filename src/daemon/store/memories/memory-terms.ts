import { segmenter } from '../../../channel/characters.ts';

/** A word that a search looks for. */
export interface WantedTerm {
  term: string;
  /** Longer words that begin with this one match, too. */
  prefix: boolean;
}

/** Maximum number of words of a query that are searched for. Beyond that, the shortest words are ignored. */
const WANTED_MAX = 32;
/** Maximum number of characters of a query that are read. */
const QUERY_MAX = 4_000;
/** Maximum number of characters of a word that are compared. */
const TERM_MAX = 64;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that put no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** In these scripts, a single letter is not a word worth searching for. */
const LETTER = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]$/u;
/** A word that is too short to have its ending removed. The stored word may still have an ending: `dog`, `dogs`. */
const SHORT_WORD = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]{3}$/u;

/**
 * The words of a text as all backends index them: distinct, without case and diacritics, and only letters and digits,
 * so that a word is safe in any query language.
 */
export function extractTerms(text: string): string[] {
  const words = (text.match(WORD) ?? []).flatMap((word) => (UNSPACED.test(word) ? segments(word) : [word]));
  return [...new Set(words.map(foldWord).filter((term) => term !== ''))];
}

/** The words of a query, in the form in which a search compares them. */
export function wantedTerms(query: string, words: 'some' | 'every'): WantedTerm[] {
  const terms = extractTerms(query.slice(0, QUERY_MAX)).toSorted((a, b) => b.length - a.length);
  if (words === 'every') return terms.slice(0, WANTED_MAX).map((term) => ({ term, prefix: false }));
  return terms
    .filter((term) => !LETTER.test(term))
    .slice(0, WANTED_MAX)
    .map(withoutEnding);
}

/** Cuts off the end of a word, because most languages inflect there. Words with digits are not cut. */
function withoutEnding(term: string): WantedTerm {
  if (SHORT_WORD.test(term)) return { term, prefix: true };
  if (term.length < 4 || /\p{N}/u.test(term)) return { term, prefix: false };
  const kept = [...term].slice(0, term.length < 6 ? -1 : -2);
  return { term: kept.join(''), prefix: true };
}

function segments(word: string): string[] {
  return [...segmenter('word').segment(word)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

function foldWord(word: string): string {
  const plain = word.normalize('NFKD').replace(/[^\p{L}\p{N}]/gu, '');
  return [
    ...plain
      .normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ''),
  ]
    .slice(0, TERM_MAX)
    .join('');
}
