import type { Dialect } from './dialect.ts';
import type { Run } from './inline.ts';
import type { Token } from './tokens.ts';
import { wordsOf } from './words.ts';

/** `@name`, but not inside an e-mail address. */
const MENTION = /(?<![\p{L}\p{N}_])@(?=[\p{L}\p{N}_])/gu;
/** An invisible character between `@` and a name, so that the platform does not recognize the name. */
const SILENCER = '\u2060';
const LETTER = /[\p{L}\p{M}\p{N}_]/u;

/**
 * Turns the runs of a block into tokens. Names that would notify people and characters that would be markup are
 * escaped.
 */
export function escapeRuns(runs: readonly Run[], dialect: Dialect): Token[] {
  let safe = runs;
  for (const [sign, lookalike] of Object.entries(dialect.lookalikes))
    safe = replacePairs(safe, sign, lookalike);
  return safe.flatMap(({ kind, text, marks }) =>
    // A reply must not notify anybody. In code and addresses, platforms do not look for names.
    wordsOf(kind === 'text' ? text.replace(MENTION, `@${SILENCER}`) : text, marks),
  );
}

/** A character that could begin or end markup. */
interface Sign {
  run: number;
  at: number;
  line: number;
  begins: boolean;
  ends: boolean;
}

/**
 * Replaces signs that could form a pair with their lookalike. A sign that is alone on its line is kept, unless a mark
 * of the block consists of the same sign.
 */
function replacePairs(runs: readonly Run[], sign: string, lookalike: string): readonly Run[] {
  const signs = signsIn(runs, sign);
  if (signs.length === 0) return runs;
  const isUsed = runs.some(({ marks }) => marks.some(({ open }) => open === sign));
  const lines = Map.groupBy(signs, ({ line }) => line);
  const replaced = new Map<number, Set<number>>();
  for (const inLine of lines.values()) {
    const first = inLine.findIndex(({ begins }) => begins);
    const last = inLine.findLastIndex(({ ends }) => ends);
    if (!isUsed && (first === -1 || last <= first)) continue;
    for (const { run, at } of inLine) {
      const places = replaced.get(run) ?? new Set();
      replaced.set(run, places.add(at));
    }
  }
  return runs.map((run, index) => {
    const places = replaced.get(index);
    if (places === undefined) return run;
    return {
      ...run,
      text: run.text.replaceAll(sign, (found, at: number) => (places.has(at) ? lookalike : found)),
    };
  });
}

function signsIn(runs: readonly Run[], sign: string): Sign[] {
  let line = 0;
  return runs.flatMap(({ kind, text }, run) => {
    const signs: Sign[] = [];
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '\n') line++;
      if (text[at] !== sign || kind !== 'text') continue;
      // Where a run begins or ends, the neighbor may be another run or a mark.
      const before = text[at - 1];
      const after = text[at + 1];
      const begins =
        (before === undefined || !LETTER.test(before)) && (after === undefined || !/\s/.test(after));
      const ends =
        (after === undefined || !LETTER.test(after)) && (before === undefined || !/\s/.test(before));
      if (begins || ends) signs.push({ run, at, line, begins, ends });
    }
    return signs;
  });
}
