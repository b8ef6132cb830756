import { createHash } from 'node:crypto';
import type { Arrived, Deduplicated } from './turn.ts';

/**
 * Identifies a message in the journal of actions: all runs of the message have the same key, and no other message has
 * it (agentd-agent(7), "Journal"). If the message has an idempotency key, the result is a hash of it, which all retries
 * of the sender share. Otherwise it is the id of the turn. All runs of a platform's message have the same turn id,
 * which is the id of its inbox entry. Any other message without an idempotency key runs only once.
 */
export function turnKey({ turn_id, key }: Pick<Arrived & Deduplicated, 'turn_id' | 'key'>): string {
  // Hashed, because idempotency keys and user ids may be long, and the turn key is not shown anywhere.
  return key === null ? turn_id : createHash('sha256').update(key.key).digest('base64url');
}
