import { randomUUID } from 'node:crypto';
import { aliasChange, type MemoryOwner } from '../../identity/identity.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps.ts';
import { extractTerms, wantedTerms } from './memory-terms.ts';

/**
 * Long-term memory (agentd-agent(7), "Memory"): texts that an agent was asked to remember, each with one owner. No
 * method shows or changes memories of another owner.
 *
 * An owner with an alias has the memories that were stored with this alias or without an alias. If the owner's alias is
 * now a different one, all memories under the owner's key are deleted, because they belong to somebody else.
 */
export interface MemoryStore {
  /** Names the backend for people, without secrets: for example `postgres db.example.com/agentd`. */
  readonly description: string;
  /**
   * Stores a memory, which counts as used now. If the owner has more than `MEMORIES_MAX`, the least recently used
   * memory is deleted. A memory of the owner with the same text is replaced. The stored memory is tainted only if both
   * the old and the new memory are tainted. Atomic.
   */
  add(owner: MemoryOwner, memory: NewMemory): Promise<Memory>;
  /** The memories that match the query best, best first. Of equally good matches, the newest comes first. */
  search(owner: MemoryOwner, query: MemoryQuery): Promise<Memory[]>;
  /** All memories of the owner, newest first. */
  list(owner: MemoryOwner): Promise<Memory[]>;
  /** Records that these memories were used now. */
  use(owner: MemoryOwner, ids: readonly string[]): Promise<void>;
  /** Deletes these memories, or all memories of the owner. @returns how many were deleted. */
  forget(owner: MemoryOwner, ids: readonly string[] | 'all'): Promise<number>;
  /** Marks the memories of a turn as tainted. */
  taint(owner: MemoryOwner, turn_id: string): Promise<void>;
  /** Resolves if the backend can be reached and has the schema of this version. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface NewMemory {
  text: string;
  /** The turn in which it was stored. */
  turn_id: string;
  /**
   * Whether the run that stored it got tool results from outside the origin of `API_BASE_URL`. The agent gets a tainted
   * memory only if the agent searches for it.
   */
  tainted: boolean;
}

export interface Memory extends NewMemory {
  memory_id: string;
  created_at: number;
  used_at: number;
}

export interface MemoryQuery {
  text: string;
  /**
   * `some`: one word of the query is enough, and its ending is ignored. `every`: the memory must contain all words
   * exactly.
   */
  words: 'some' | 'every';
  limit: number;
  /** Only memories that are not tainted. */
  untainted?: boolean;
}

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
    search: step((tx, owner, query) => bestMemories(readMemories(tx, owner), query).map(toMemory)),
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

/**
 * The memories that a search finds, best first. A word counts more if fewer memories of the owner contain it, so that
 * common words hardly matter (the inverse document frequency of BM25). Of equally good memories, the newest comes first.
 * @param all all memories of the owner, newest first.
 */
function bestMemories(
  all: readonly StoredMemory[],
  { text, words, limit, untainted = false }: MemoryQuery,
): StoredMemory[] {
  const wanted = wantedTerms(text, words);
  const compared = all.map((memory) => ({
    memory,
    matches: wanted.map(({ term, prefix }) =>
      memory.terms.some((one) => (prefix ? one.startsWith(term) : one === term)),
    ),
  }));
  const weights = wanted.map((_, index) => {
    const having = compared.filter(({ matches }) => matches[index]).length;
    return Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
  });
  return compared
    .filter(({ matches }) =>
      words === 'every' ? wanted.length > 0 && matches.every(Boolean) : matches.some(Boolean),
    )
    .map(({ memory, matches }) => ({
      memory,
      score: weights.reduce((sum, weight, index) => sum + (matches[index] ? weight : 0), 0),
    }))
    .sort((a, b) => b.score - a.score)
    .map(({ memory }) => memory)
    .filter(({ tainted }) => !(untainted && tainted))
    .slice(0, limit);
}
