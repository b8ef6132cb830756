import { clientTag } from '../session/ids.ts';

/**
 * The tag of the anonymous client to whom an idempotency key belongs (`toIdempotencyKey`); null if the key
 * belongs to a person, or to a message of a platform.
 */
export function clientOfKey(key: string): string | null {
  if (!key.startsWith('[')) return null;
  const [, sender] = JSON.parse(key) as [string, string[]];
  const [kind, address] = sender;
  return kind === 'client' && address !== undefined ? clientTag(address) : null;
}
