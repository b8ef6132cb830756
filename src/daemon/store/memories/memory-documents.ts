import { randomUUID } from 'node:crypto';
import { aliasChange, type MemoryOwner } from '../../identity/identity.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps.ts';
import { bestMemories } from './best-memories.ts';
import type { Memory, MemoryStore, NewMemory } from './memories.ts';
import { extractTerms, wantedTerms } from './memory-terms.ts';

interface StoredMemory extends Memory {
  /** The key of its owner. */
  owner: string;
  /** Greater than that of each memory that was stored before. */
  serial: number;
  /** The words of its text: to split all memories of a person again for each search would take too long. */
  terms: readonly string[];
}

const MEMORY: Kind<StoredMemory> = {
  name: 'memory',
  expires: () => null,
  indexes: ({ owner, serial }) => [[owner, -serial]],
  isWide: () => true,
};

/** Who has memories, by the key. Each step that changes the memories of an owner puts it, so that none misses another. */
const MEMORY_OWNER: Kind<{ alias: string | null }> = { name: 'memory_owner', expires: () => null };

/** Maximum number of memories of one owner that a step reads. */
const READ_MAX = 10_000;

/** @param memoriesMax maximum number of memories of one owner */
export function memoryStore(
  kernel: Pick<Kernel, 'description' | 'step'>,
  { memoriesMax }: { memoriesMax: number },
): MemoryStore {
  const step = stepsOf(kernel);
  const add = step(
    (tx, owner: MemoryOwner, { text, turn_id, tainted, memory_id }: NewMemory & { memory_id: string }) => {
      if (!claim(tx, owner)) tx.put(MEMORY_OWNER, owner.key, { alias: owner.alias });
      const all = memoriesOf(tx, owner.key);
      const equal = all.find((memory) => memory.text === text);
      const memory: Memory = {
        memory_id: equal?.memory_id ?? memory_id,
        text,
        turn_id,
        tainted: tainted && equal?.tainted !== false,
        created_at: tx.now,
        used_at: tx.now,
      };
      const others = all.filter((one) => one !== equal).sort((a, b) => b.used_at - a.used_at);
      for (const { memory_id } of others.slice(memoriesMax - 1)) tx.delete(MEMORY, memory_id);
      const own = { owner: owner.key, serial: tx.serial(), terms: equal?.terms ?? extractTerms(text) };
      tx.put(MEMORY, memory.memory_id, { ...memory, ...own });
      return memory;
    },
  );
  return {
    description: kernel.description,
    add: (owner, memory) => add(owner, { ...memory, memory_id: randomUUID() }),
    search: step((tx, owner, query) => {
      const wanted = wantedTerms(query.text, query.words);
      const all = readMemories(tx, owner).map((memory) => {
        const matches = wanted.map(({ term, prefix }) =>
          memory.terms.some((one) => (prefix ? one.startsWith(term) : one === term)),
        );
        return { memory, tainted: memory.tainted, matches };
      });
      return bestMemories(all, query).map(({ memory }) => toMemory(memory));
    }),
    list: step((tx, owner) => readMemories(tx, owner).map(toMemory)),
    use: step((tx, owner, ids) => {
      settle(tx, owner);
      for (const memory of ownMemories(tx, owner, ids))
        tx.put(MEMORY, memory.memory_id, { ...memory, used_at: tx.now });
    }),
    forget: step((tx, owner, ids) => {
      claim(tx, owner);
      if (ids === 'all') return forgetMemories(tx, owner.key);
      const meant = ownMemories(tx, owner, ids);
      for (const { memory_id } of meant) tx.delete(MEMORY, memory_id);
      return meant.length;
    }),
    taint: step((tx, owner, turn_id) => {
      claim(tx, owner);
      for (const memory of memoriesOf(tx, owner.key))
        if (memory.turn_id === turn_id) tx.put(MEMORY, memory.memory_id, { ...memory, tainted: true });
    }),
    check: () => kernel.step(() => undefined),
    close: async () => undefined,
  };
}

/** Deletes all memories of an owner, and the owner. @returns how many memories there were */
export function forgetMemories(tx: Tx, owner: string): number {
  const all = memoriesOf(tx, owner);
  for (const { memory_id } of all) tx.delete(MEMORY, memory_id);
  tx.delete(MEMORY_OWNER, owner);
  return all.length;
}

/**
 * Begins a change of an owner's memories. Deletes those that were stored with another alias.
 * @returns false if the owner has none
 */
function claim(tx: Tx, { key, alias }: MemoryOwner): boolean {
  const found = tx.get(MEMORY_OWNER, key);
  if (found === null) return false;
  if (aliasChange(found.alias, alias) === 'new_owner') forgetMemories(tx, key);
  tx.put(MEMORY_OWNER, key, { alias: alias ?? found.alias });
  return true;
}

/** Begins a step that changes nothing else of an owner: as `claim` if the owner's alias is new or has changed. */
function settle(tx: Tx, owner: MemoryOwner): void {
  const known = tx.get(MEMORY_OWNER, owner.key);
  if (known !== null && aliasChange(known.alias, owner.alias) !== 'none') claim(tx, owner);
}

function readMemories(tx: Tx, owner: MemoryOwner): StoredMemory[] {
  settle(tx, owner);
  return memoriesOf(tx, owner.key);
}

/** The memories of an owner, newest first. */
function memoriesOf(tx: Tx, owner: string): StoredMemory[] {
  return tx.first(MEMORY, owner, READ_MAX).map(({ doc }) => doc);
}

/** Those of these memories that belong to the owner. */
function ownMemories(tx: Tx, { key }: MemoryOwner, ids: readonly string[]): StoredMemory[] {
  return ids.flatMap((id) => tx.get(MEMORY, id) ?? []).filter(({ owner }) => owner === key);
}

function toMemory({ owner: _owner, serial: _serial, terms: _terms, ...memory }: StoredMemory): Memory {
  return memory;
}
