import { type PersonKey, personKey } from '../identity/identity.ts';
import { type MemoryOwner, ownerOfPerson, ownerOnPlatform } from '../identity/memory-owner.ts';
import { writingsOf } from '../linking/link-ids.ts';

/** Whom a command is about. */
export type { PersonKey };
/** The spellings that a channel may use for the id of a user, the stored one first. Empty if it is no id there. */
export { personKey, writingsOf as spellingsOf };

/** A person, identified by the claims of a token, or a user of a platform. */
export type Who = { person: PersonKey } | { platform: string; user_id: string };

/** The claims that a person key consists of; `''` for a claim that the token does not have. */
export function claimsOfPerson(key: PersonKey): { issuer: string; tenant: string; sub: string } {
  const [issuer, tenant, sub] = JSON.parse(key) as [string, string, string];
  return { issuer, tenant, sub };
}

/** The owner under which the daemon keeps the memories of the person or user. */
export function memoryOwnerOf(who: Who): MemoryOwner {
  return 'person' in who ? ownerOfPerson(who.person) : ownerOnPlatform(who.platform, who.user_id);
}
