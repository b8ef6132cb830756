import type { MemoryQuery } from './memories.ts';

/** The properties that decide the rank of a memory. */
interface RankedMemory {
  tainted: boolean;
  /** For each search term, whether the memory contains it. */
  matches: readonly boolean[];
}

/**
 * The memories that a search finds, best first. A word counts more if fewer memories of the owner contain it, so that
 * common words hardly matter (the inverse document frequency of BM25). Of equally good memories, the newest comes first.
 * @param all all memories of the owner, newest first.
 */
export function bestMemories<M extends RankedMemory>(
  all: readonly M[],
  { words, limit, untainted = false }: Omit<MemoryQuery, 'text'>,
): M[] {
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
    .map(({ memory }) => memory)
    .filter(({ tainted }) => !(untainted && tainted))
    .slice(0, limit);
}
