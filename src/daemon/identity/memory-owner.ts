import type { PersonKey } from './identity.ts';

/** For whom memories are kept (agentd-agent(7), "Memory"). */
export interface MemoryOwner {
  /**
   * The key of a person, or `platform:user_id` of a user that a platform has verified. The two never meet: a person's
   * key is JSON and begins with `[`, a platform's name begins with a letter.
   */
  key: string;
  /**
   * Another id of a platform's user, if the platform sends one. Memories of the same user id with another alias are
   * somebody else's: the user id has a new owner.
   */
  alias: string | null;
}

/** The part of a message that decides for whom its run remembers. */
export interface MemorySender {
  /** The person that the message acts for, by a valid token. */
  person: PersonKey | null;
  /** The platform that has verified the sender. Null: the client itself says who it is. */
  platform: string | null;
  user_id: string;
  alias_id: string | null;
  /** Other people can read the conversation. */
  shared: boolean;
}

/** Null: nobody is known, or other people would read the memories. */
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
