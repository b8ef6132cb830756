import type { Dialect } from './dialect.ts';
import type { Ink } from './ink.ts';
import type { Run } from './inline.ts';
import { wordsOf } from './words.ts';

/** `@name`, but not the middle of an e-mail address. */
const MENTION = /(?<![\p{L}\p{N}_])@(?=[\p{L}\p{N}_])/gu;
/** Behind `@` it ends what would be a name, and is not seen. */
const SILENCER = '\u2060';
const LETTER = /[\p{L}\p{M}\p{N}_]/u;

/** The runs of one block as words, without names that would notify and characters that would be markup. */
export function harmless(runs: readonly Run[], dialect: Dialect): Ink[] {
  let safe = runs;
  for (const [sign, lookalike] of Object.entries(dialect.lookalikes))
    safe = withoutPairs(safe, sign, lookalike);
  return safe.flatMap(({ kind, text, marks }) =>
    // A reply notifies nobody. In code and in an address no platform looks for names.
    wordsOf(kind === 'text' ? text.replace(MENTION, `@${SILENCER}`) : text, marks),
  );
}

/** A character of the text that could begin or end markup. */
interface Sign {
  run: number;
  at: number;
  line: number;
  begins: boolean;
  ends: boolean;
}

/** A sign stays where it is alone in its line; where it could pair, its lookalike stands in. */
function withoutPairs(runs: readonly Run[], sign: string, lookalike: string): readonly Run[] {
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
      // At its ends a run may touch anything: another run, or a mark.
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
