import type { PersonKey } from '../identity/identity.ts';
import type { GuardUser } from './verdict.ts';

/**
 * The user whose messages are counted together (decisions §7). Where the platform says who sends, that is
 * its user. Else it is the person of a valid token; without one it is client address and `user_id` together,
 * so that nobody locks out another by claiming their id.
 * Keys are JSON, so that no choice of ids makes two users one, and no key is the beginning of another.
 */
export function guardUser(sender: {
  platform: string;
  user_id: string;
  person: PersonKey | null;
  /** Null where the platform says who sends. */
  address: string | null;
}): GuardUser {
  return { ...sender, key: JSON.stringify([sender.platform, ...senderKey(sender)]) };
}

/** Without the platform: what Idempotency-Keys are the user's own by (decisions §6). */
export function senderKey({
  user_id,
  person,
  address,
}: Pick<GuardUser, 'user_id' | 'person' | 'address'>): string[] {
  if (person !== null) return ['person', person];
  return address === null ? ['user', user_id] : ['client', address, user_id];
}
