import { createHash } from 'node:crypto';

/** Long enough that two clients hardly ever share a tag. If they do, they only share a limit. */
const TAG_LENGTH = 12;

/**
 * The tag that an anonymous client's sessions are counted under. Tags are only compared, so the address itself
 * is not stored.
 * @param address the client's address; for IPv6, its /64 network.
 */
export function clientTag(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, TAG_LENGTH);
}
