import type { ClaimPatterns } from './claim-patterns.ts';
import { ENGLISH } from './english.ts';
import { GERMAN } from './german.ts';
import { SPANISH } from './spanish.ts';

const LANGUAGES: readonly ClaimPatterns[] = [ENGLISH, GERMAN, SPANISH];

/** Longest reply that is searched, and longest clause, in characters. Longer ones are cut. */
const REPLY_MAX = 20_000;
const CLAUSE_MAX = 400;

/** Parts that do not say anything in the agent's own name: code and quotations. */
const FENCED = /^(?:```|~~~)[\s\S]*?(?:^(?:```|~~~)|$(?![\s\S]))/gm;
const QUOTED_LINE = /^\s*>.*$/gm;
const QUOTED = /"[^"\n]{0,300}"|“[^”\n]{0,300}”|„[^“”\n]{0,300}[“”]|«[^»\n]{0,300}»|`[^`\n]{0,300}`/g;
/** Markup within a line, numbers of lists, and symbols such as a check mark. */
const MARKUP = /[*~#_]|^\s*(?:[-+•]|\d{1,3}[.)])\s|\p{Extended_Pictographic}|✓|✗|✘|\u{fe0f}/gmu;
const LINK = /\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)/g;

/** A sentence ends with a sign and white space, or with a line. A number before a period is an ordinal in German. */
const SENTENCE_END = /(?<=[!?…]|(?<!\b(?:\d{1,2}|nr|no|n\.º|z\. ?b|bzw|ca|mr|mrs|dr|st|e\.g|i\.e))\.)\s+|\n+/;
/** A clause ends with a comma that is not within a number, with a dash or with a word that begins a contrast. */
const CLAUSE_END = /,\s+(?!\d)|[;:]\s+|\s[–—-]\s|\s(?=(?:but|so|aber|sondern|pero|sino)\s)|(?<=\S)—(?=\S)/;
const LEADING = /^(?:and|so|but|okay|ok|great|sure|und|aber|gern|gerne|y|pero|perfecto|good news)\s+/;

/**
 * Finds out whether a reply says that something was changed, sent, booked, cancelled, deleted, paid or the like. It
 * knows how people say that in English, German and Spanish (the files beside this one). Questions, offers, conditions,
 * denials, and what others did at another time are no claims.
 *
 * @returns the clause that says so; null if there is none.
 */
export function findClaim(reply: string): string | null {
  const plain = reply
    .slice(0, REPLY_MAX)
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(FENCED, '\n')
    .replace(QUOTED_LINE, '')
    .replace(LINK, '$1')
    .replace(MARKUP, '')
    .replace(QUOTED, ' ');
  for (const sentence of plain.split(SENTENCE_END)) {
    for (const language of LANGUAGES) {
      const isAnnounced = language.announced?.some((one) => one.test(sentence)) && !sentence.includes('?');
      const found = isAnnounced
        ? sentence
        : statementsIn(sentence.trim(), language).find((clause) => isClaim(clause, language));
      if (found !== undefined) return found;
    }
  }
  return null;
}

/** The clauses of a sentence that state something. Of a question, these are the clauses before its last one. */
function statementsIn(sentence: string, { asks, tag }: ClaimPatterns): string[] {
  const clauses = sentence
    .split(CLAUSE_END)
    .map((clause) =>
      clause
        .slice(0, CLAUSE_MAX)
        .replace(/[.!?…¡\s]+$/, '')
        .replace(/^[¡\s]+/, ''),
    )
    .filter((clause) => clause !== '');
  if (!/\?\W*$/.test(sentence)) return clauses;
  const last = clauses.pop() ?? '';
  return asks.test(sentence) || tag.test(last) ? [] : clauses;
}

function isClaim(clause: string, { own, passive, denied, elsewhere }: ClaimPatterns): boolean {
  const text = clause.replace(LEADING, '');
  const isStated = (one: RegExp) => {
    const match = one.exec(text);
    return match !== null && !denied.test(text.slice(0, match.index + match[0].length));
  };
  return own.some(isStated) || (!elsewhere.test(text) && passive.some(isStated));
}
