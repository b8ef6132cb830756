/** What the rank of a memory depends on. */
export interface RankedMemory {
  created_at: number;
  /** For each wanted term, whether the memory has it. */
  matches: readonly boolean[];
}

/**
 * The memories that match, the best one first. A word counts the more, the fewer memories of the owner have it, so that
 * common words decide nothing (the inverse document frequency of BM25). Equal ones: newest first.
 * @param all all memories of the owner, newest first
 */
export function rankMemories<M extends RankedMemory>(all: readonly M[], words: 'some' | 'every'): M[] {
  const terms = all[0]?.matches.length ?? 0;
  const weights = Array.from({ length: terms }, (_, term) => {
    const having = all.filter(({ matches }) => matches[term]).length;
    return Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
  });
  const isMatch = ({ matches }: M) =>
    words === 'every' ? terms > 0 && matches.every(Boolean) : matches.some(Boolean);
  const score = ({ matches }: M) =>
    matches.reduce((sum, found, term) => sum + (found ? (weights[term] ?? 0) : 0), 0);
  return all
    .filter(isMatch)
    .map((memory) => ({ memory, score: score(memory) }))
    .sort((a, b) => b.score - a.score)
    .map(({ memory }) => memory);
}
