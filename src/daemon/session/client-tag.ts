import { createHash } from 'node:crypto';

/** Length of a tag. Two clients hardly ever share a tag of this length. If they do, they only share a limit. */
const TAG_LENGTH = 12;

/**
 * The tag under which the sessions of an anonymous client are counted. Tags are only compared, so the address itself
 * need not be stored.
 * @param address the client's address; for IPv6, its /64 network.
 */
export function clientTag(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, TAG_LENGTH);
}
