import { createHash } from 'node:crypto';
import type { Arrived, Deduplicated } from './turn.ts';

/**
 * Identifies a message in the journal of actions: each run of the message has the same key, and no other message has it
 * (agentd-agent(7), "Journal"). If the client sent an idempotency key, its retries have the same key, which belongs to
 * their sender. The entry of a platform's message in the inbox has an id that is also the id of its turn. Any other
 * message runs once.
 */
export function turnKey({ turn_id, key }: Pick<Arrived & Deduplicated, 'turn_id' | 'key'>): string {
  // Hashed, because idempotency keys and user ids may be long, and the turn key is not shown anywhere.
  return key === null ? turn_id : createHash('sha256').update(key.key).digest('base64url');
}
