import { aliasChange, type MemoryOwner } from '../../identity/identity.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';
import { bestMemories } from './best-memories.ts';
import type { Memory, MemoryStore } from './memories.ts';
import { extractTerms, wantedTerms } from './memory-terms.ts';

interface StoredMemories {
  alias: string | null;
  /** Newest first. */
  memories: readonly Memory[];
}

/** The memories of an owner, by the owner's key. */
export const MEMORIES: Kind<StoredMemories> = { name: 'memories', expires: () => null };

export function memoryStore(kernel: Kernel, { memoriesMax }: { memoriesMax: number }): MemoryStore {
  const step = stepsOf(kernel);
  return {
    description: kernel.description,
    add: step((tx, owner, { text, turn_id, tainted }) => {
      const all = readMemories(tx, owner);
      const equal = all.find((memory) => memory.text === text);
      const memory: Memory = {
        memory_id: equal?.memory_id ?? `${tx.now}-${String(tx.serial()).padStart(12, '0')}`,
        text,
        turn_id,
        tainted: tainted && equal?.tainted !== false,
        created_at: tx.now,
        used_at: tx.now,
      };
      const others = all.filter((one) => one !== equal);
      if (others.length >= memoriesMax) {
        const oldest = others.reduce((least, one) => (one.used_at <= least.used_at ? one : least));
        others.splice(others.indexOf(oldest), 1);
      }
      keep(tx, owner, [memory, ...others]);
      return memory;
    }),
    search: step((tx, owner, query) => {
      const wanted = wantedTerms(query.text, query.words);
      const all = readMemories(tx, owner).map((memory) => {
        const terms = extractTerms(memory.text);
        const matches = wanted.map(({ term, prefix }) =>
          terms.some((one) => (prefix ? one.startsWith(term) : one === term)),
        );
        return { ...memory, matches };
      });
      return bestMemories(all, query).map(({ matches: _matches, ...memory }) => memory);
    }),
    list: step(readMemories),
    use: step((tx, owner, ids) => {
      const used = (memory: Memory) =>
        ids.includes(memory.memory_id) ? { ...memory, used_at: tx.now } : memory;
      keep(tx, owner, readMemories(tx, owner).map(used));
    }),
    forget: step((tx, owner, ids) => {
      const all = readMemories(tx, owner);
      const left = ids === 'all' ? [] : all.filter(({ memory_id }) => !ids.includes(memory_id));
      keep(tx, owner, left);
      return all.length - left.length;
    }),
    taint: step((tx, owner, turn_id) => {
      const marked = (memory: Memory) => (memory.turn_id === turn_id ? { ...memory, tainted: true } : memory);
      keep(tx, owner, readMemories(tx, owner).map(marked));
    }),
    check: () => kernel.step(() => undefined),
    close: async () => undefined,
  };
}

/** The owner's memories, newest first. Memories that were stored with another alias are deleted. */
function readMemories(tx: Tx, { key, alias }: MemoryOwner): Memory[] {
  const found = tx.get(MEMORIES, key);
  if (found === null) return [];
  const memories = aliasChange(found.alias, alias) === 'new_owner' ? [] : found.memories;
  tx.put(MEMORIES, key, { alias: alias ?? found.alias, memories });
  return [...memories];
}

function keep(tx: Tx, { key, alias }: MemoryOwner, memories: readonly Memory[]): void {
  const known = tx.get(MEMORIES, key);
  if (known !== null || memories.length > 0)
    tx.put(MEMORIES, key, { alias: alias ?? known?.alias ?? null, memories });
}
