import { type MemoryOwner, memoryOwner } from '../identity/memory-owner.ts';
import { writingsOf } from '../linking/link-ids.ts';
import type { Arrived, Resolved } from './turn.ts';

/**
 * The owner of the memories of a run. Null if the sender is not known, or if other people can read the conversation.
 */
export function memoryOwnerOf({ message, principal, channel }: Arrived & Resolved): MemoryOwner | null {
  // A platform may write the same id in several ways.
  const [user_id = message.user_id] = writingsOf(channel, message.user_id);
  return memoryOwner({
    person: principal.person,
    platform: channel.has_platform ? channel.name : null,
    user_id,
    alias_id: message.alias_id ?? null,
    shared: message.shared ?? false,
  });
}
