import { timeOrderedId } from '../../clock.ts';
import type { MemoryOwner } from '../../identity/memory-owner.ts';
import { aliasChange } from '../alias-change.ts';
import type { Memory, MemoryStore } from '../memories.ts';
import { termsOf, wantedTerms } from '../memory-terms.ts';
import { rankMemories } from '../rank-memories.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

type MemorySteps = Steps<Omit<MemoryStore, 'description'>>;

export function memorySteps({ state, clock, bounds }: MemoryContext): MemorySteps {
  /** The owner's memories, newest first. Memories that were stored with another alias are deleted. */
  const memoriesOf = ({ key, alias }: MemoryOwner): Memory[] => {
    const found = state.memories.get(key) ?? { alias: null, memories: [] };
    if (aliasChange(found.alias, alias) === 'new_owner') found.memories = [];
    found.alias = alias ?? found.alias;
    if (found.memories.length > 0) state.memories.set(key, found);
    return found.memories;
  };
  const keep = ({ key, alias }: MemoryOwner, memories: Memory[]) =>
    state.memories.set(key, { alias: alias ?? state.memories.get(key)?.alias ?? null, memories });
  return {
    add(owner, { text, turn_id, tainted }) {
      const now = clock.now();
      const all = memoriesOf(owner);
      const equal = all.find((memory) => memory.text === text);
      const memory: Memory = {
        memory_id: equal?.memory_id ?? timeOrderedId(now),
        text,
        turn_id,
        tainted: tainted && equal?.tainted !== false,
        created_at: now,
        used_at: now,
      };
      const others = all.filter((one) => one !== equal);
      if (others.length >= bounds.memoriesMax) {
        const oldest = others.reduce((least, one) => (one.used_at <= least.used_at ? one : least));
        others.splice(others.indexOf(oldest), 1);
      }
      keep(owner, [memory, ...others]);
      return memory;
    },
    search(owner, { text, words, limit, untainted = false }) {
      const wanted = wantedTerms(text, words);
      const all = memoriesOf(owner).map((memory) => {
        const terms = termsOf(memory.text);
        const matches = wanted.map(({ term, prefix }) =>
          terms.some((one) => (prefix ? one.startsWith(term) : one === term)),
        );
        return { ...memory, matches };
      });
      return rankMemories(all, words)
        .filter(({ tainted }) => !(untainted && tainted))
        .slice(0, limit)
        .map(({ matches: _matches, ...memory }) => memory);
    },
    list: memoriesOf,
    use(owner, ids) {
      for (const memory of memoriesOf(owner))
        if (ids.includes(memory.memory_id)) memory.used_at = clock.now();
    },
    forget(owner, ids) {
      const all = memoriesOf(owner);
      const left = ids === 'all' ? [] : all.filter(({ memory_id }) => !ids.includes(memory_id));
      if (all.length > 0) keep(owner, left);
      return all.length - left.length;
    },
    taint(owner, turn_id) {
      for (const memory of memoriesOf(owner)) if (memory.turn_id === turn_id) memory.tainted = true;
    },
    check: () => undefined,
    close: () => undefined,
  };
}
