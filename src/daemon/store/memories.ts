import type { MemoryOwner } from '../identity/memory-owner.ts';

/**
 * Long-term memory (agentd-agent(7), "Memory"): texts that an agent was asked to remember, of one owner each. No method
 * shows or changes memories of another owner.
 *
 * An owner with an alias has the memories that were stored with this alias, or with none. As soon as an owner comes
 * with another alias, all memories that are stored under the key are deleted: they were somebody else's.
 */
export interface MemoryStore {
  /** Which backend, for people, without secrets: `postgres db.example.com/agentd`. */
  readonly description: string;
  /**
   * Stores a memory, used now. Beyond `MEMORIES_MAX` of an owner, the one that was used longest ago is deleted. An equal
   * text of the owner is replaced; it stays untainted if one of the two is. Atomic.
   */
  add(owner: MemoryOwner, memory: NewMemory): Promise<Memory>;
  /** The memories that match best, the best one first; equal ones newest first. */
  search(owner: MemoryOwner, query: MemoryQuery): Promise<Memory[]>;
  /** Newest first. */
  list(owner: MemoryOwner): Promise<Memory[]>;
  /** Notes that these memories were used now. */
  use(owner: MemoryOwner, ids: readonly string[]): Promise<void>;
  /** Deletes these memories, or all of the owner. @returns how many there were. */
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
  /** Results of tools of another origin than `API_BASE_URL` were in the run: it is never given unasked. */
  tainted: boolean;
}

export interface Memory extends NewMemory {
  memory_id: string;
  created_at: number;
  used_at: number;
}

export interface MemoryQuery {
  text: string;
  /** `some`: one word is enough, and its ending does not count. `every`: all words are in the memory as they are. */
  words: 'some' | 'every';
  limit: number;
  /** Only memories that are not tainted. */
  untainted?: boolean;
}
