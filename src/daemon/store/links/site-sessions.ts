import { byPerson, type TokenOrigin } from '../../identity/identity.ts';
import { DAY_MS } from '../bounds.ts';
import type { Kind, Tx } from '../kernels/kernel.ts';
import { hashIds } from './sign-out-marks.ts';

/**
 * Whose stored tokens name a session at the site, by the hash of `iss` and `sid`: a sign-out may name only the session.
 * It survives the erasure of the person until the tokens have expired, so it holds only hashes and a time.
 */
const SITE_SESSION: Kind<{ persons: readonly string[]; expires_at: number }> = {
  name: 'site_session',
  expires: ({ expires_at }) => expires_at,
};

/**
 * How many persons of a session are noted. A session at a site has one; if a site gives more the same `sid`, only the mark
 * ends the tokens of the others.
 */
export const PERSONS_MAX = 100;
/** How long a note is kept at most, whatever the expiry of a token is. */
const NOTE_MAX_MS = 400 * DAY_MS;

/**
 * Notes whose token is stored, if it names a session at the site. Every step that stores a token which a sign-out ends
 * calls it.
 * @param ends_at when the token, or the record that contains it, is of no use any more
 */
export function noteSiteSession(tx: Tx, { iss = '', sub, sid }: TokenOrigin, ends_at: number): void {
  if (sid === undefined) return;
  const key = hashIds(iss, sid);
  const person = byPerson(iss, sub);
  const known = tx.get(SITE_SESSION, key);
  const before = known?.persons ?? [];
  const isKnown = before.includes(person) || before.length >= PERSONS_MAX;
  // A day more, for clocks that differ.
  const expires_at = Math.min(Math.max(ends_at, tx.now) + DAY_MS, tx.now + NOTE_MAX_MS);
  if (isKnown && known !== null && known.expires_at >= expires_at) return;
  tx.put(SITE_SESSION, key, {
    persons: isKnown ? before : [...before, person],
    expires_at: Math.max(expires_at, known?.expires_at ?? 0),
  });
}

/** The persons (`byPerson`) that are noted for a session at the site. */
export function personsOfSiteSession(tx: Tx, iss: string, sid: string): readonly string[] {
  return tx.get(SITE_SESSION, hashIds(iss, sid))?.persons ?? [];
}
