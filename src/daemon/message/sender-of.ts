import type { GuardUser } from '../guard/verdict.ts';
import type { Arrived, Identified } from './turn.ts';

/** The sender of a web client's message, for the keys of the loop guard and of `Idempotency-Key`. */
export function senderOf({ message, credential, address }: Arrived & Identified): Omit<GuardUser, 'key'> {
  const { platform, user_id } = message;
  return credential.kind === 'person'
    ? { platform, user_id, person: credential.verdict.person, address: null }
    : { platform, user_id, person: null, address: address ?? '' };
}
