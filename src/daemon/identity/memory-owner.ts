import type { PersonKey } from './identity.ts';

/** The person or user whose memories are kept (agentd-agent(7), "Memory"). */
export interface MemoryOwner {
  /**
   * The key of a person, or `platform:user_id` of a user that a platform has verified. The two never collide: a
   * person's key is JSON and begins with `[`; a platform's name begins with a letter.
   */
  key: string;
  /**
   * Another id of a platform's user, if the platform sends one. Memories of the same user id with a different alias
   * belong to somebody else, because the user id has a new owner.
   */
  alias: string | null;
}

/** The part of a message that determines the owner of its run's memories. */
export interface MemorySender {
  /** The person for whom the message acts, from a valid token. */
  person: PersonKey | null;
  /** The platform that has verified the sender. Null if only the client itself says who it is. */
  platform: string | null;
  user_id: string;
  alias_id: string | null;
  /** Whether other people can read the conversation. */
  shared: boolean;
}

/** The owner of the memories of a run. Null if the owner is not known, or if other people would read the memories. */
export function memoryOwner({
  person,
  platform,
  user_id,
  alias_id,
  shared,
}: MemorySender): MemoryOwner | null {
  if (shared) return null;
  if (person !== null) return ownerOfPerson(person);
  return platform === null ? null : ownerOnPlatform(platform, user_id, alias_id);
}

export function ownerOfPerson(person: PersonKey): MemoryOwner {
  return { key: person, alias: null };
}

export function ownerOnPlatform(
  platform: string,
  user_id: string,
  alias_id: string | null = null,
): MemoryOwner {
  return { key: `${platform}:${user_id}`, alias: alias_id === user_id ? null : alias_id };
}

/**
 * What the other id of a user says about what is kept for the user. `bind`: there was none yet, so the given one is
 * recorded. `new_owner`: the stored one is different, so what is kept belongs to somebody else.
 */
export function aliasChange(stored: string | null, given: string | null): 'none' | 'bind' | 'new_owner' {
  if (given === null || given === stored) return 'none';
  return stored === null ? 'bind' : 'new_owner';
}
