import type { MemoryOwner } from '../../identity/identity.ts';

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
