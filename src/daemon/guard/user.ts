import { hash } from 'node:crypto';
import { foldText } from '../texts/fold-text.ts';
import type { GuardUser } from './verdict.ts';

/**
 * The user whose messages are counted together (agentd-message(7), "Loop guard"). If the platform verifies the sender,
 * it is the platform's user. Otherwise it is the person of a valid token or, without a valid token, the client address
 * and the `user_id` together, so that nobody can lock out somebody else by claiming their id. Keys are JSON, so that
 * two users never share a key, whatever their ids are, and no key is a prefix of another.
 */
export function guardUser(sender: Omit<GuardUser, 'key'>): GuardUser {
  return { ...sender, key: JSON.stringify([sender.platform, ...senderKey(sender)]) };
}

/** The key of a user, without the platform, because web channels share a user's Idempotency-Keys. */
export function senderKey({
  user_id,
  person,
  address,
}: Pick<GuardUser, 'user_id' | 'person' | 'address'>): string[] {
  if (person !== null) return ['person', person];
  return address === null ? ['user', user_id] : ['client', address, user_id];
}

/** A hash that is the same for texts that count as equal (`foldText`). The guard stores nothing else of a text. */
export function textHash(text: string): string {
  return hash('sha256', foldText(text), 'base64url');
}
