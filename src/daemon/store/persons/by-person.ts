import { createHash } from 'node:crypto';
import { type PersonKey, parsePersonKey } from '../../identity/identity.ts';

/**
 * The name of the part of an index that holds the records of a person, whatever the tenant. A hash, because names of
 * indexes may be shown to operators of a database.
 */
export function byPerson(iss: string, sub: string): string {
  return createHash('sha256')
    .update(JSON.stringify([iss, sub]))
    .digest('base64url');
}

/** `byPerson` for the person of a record; null if it has none. */
export function byPersonOrNull(person: PersonKey | '' | null): string | null {
  if (person === null || person === '') return null;
  const { iss, sub } = parsePersonKey(person);
  return byPerson(iss, sub);
}
