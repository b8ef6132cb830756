import { createHash } from 'node:crypto';
import type { Arrived, Deduplicated } from './turn.ts';

/**
 * Names a message for the journal of actions: the same for each run of it, and for no other message (agentd-agent(7),
 * "Journal"). A client's retry has the same idempotency key, which belongs to its sender. A message of a platform has
 * its entry in the inbox, whose id is also the id of its turn. Any other message runs once.
 */
export function turnKey({ turn_id, key }: Pick<Arrived & Deduplicated, 'turn_id' | 'key'>): string {
  // Hashed: idempotency keys and user ids may be long, and the key is shown nowhere.
  return key === null ? turn_id : createHash('sha256').update(key.key).digest('base64url');
}
