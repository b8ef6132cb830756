import { createHash } from 'node:crypto';

/** Long enough that two clients hardly ever share a tag; a shared one makes them share a bound, no more. */
const TAG_LENGTH = 12;

/**
 * The tag that an anonymous client's sessions are counted under. Tags are only compared, so the address itself
 * is not stored.
 * @param address the client's address; of IPv6, its /64.
 */
export function clientTag(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, TAG_LENGTH);
}
