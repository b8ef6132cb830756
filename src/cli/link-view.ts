import { decodeToken } from '../daemon/identity/decode-token.ts';
import { personKey } from '../daemon/identity/identity.ts';
import type { Seal } from '../daemon/identity/seal.ts';
import { userOfKey } from '../daemon/linking/link-ids.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { Link } from '../daemon/store/links.ts';
import { type PersonView, personInWords, personView } from './session-view.ts';
import { isoTime } from './time-words.ts';

/**
 * `live`: messages act as the person. `token_expired`: under the default credentials, until the person links
 * anew. `unreadable`: no encryption key opens it; `malformed`: what stands there is no token.
 */
export type LinkState = 'live' | 'token_expired' | 'unreadable' | 'malformed';

/** A link as it is printed: everything but the token. Times are ISO 8601. */
export interface LinkView {
  platform: string;
  user_id: string;
  state: LinkState;
  email: string | null;
  person: PersonView | null;
  token_expires_at: string | null;
  link_expires_at: string;
  /** Whichever comes first; null where the token cannot be read. */
  expires_at: string | null;
}

export function linkView(
  { key, token: stored, expires_at }: Link,
  now: number,
  seal: Seal,
  settings: Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>,
): LinkView {
  const token = seal.open(stored, key);
  const claims = token === null ? null : decodeToken(token).claims;
  const view = { ...userOfKey(key), link_expires_at: isoTime(expires_at) };
  if (!claims) {
    const state = token === null ? 'unreadable' : 'malformed';
    return { ...view, state, email: null, person: null, token_expires_at: null, expires_at: null };
  }
  const ends = Math.floor(claims.exp * 1000);
  const lapsed = settings.JWT_VERIFY_EXP && ends + settings.JWT_CLOCK_SKEW_SECONDS * 1000 <= now;
  return {
    ...view,
    state: lapsed ? 'token_expired' : 'live',
    email: claims.email,
    person: personView(personKey(claims)),
    token_expires_at: isoTime(ends),
    expires_at: isoTime(Math.min(ends, expires_at)),
  };
}

export const LINK_HEAD = ['CHANNEL', 'USER', 'E-MAIL', 'SUB', 'STATE', 'TOKEN EXPIRES', 'LINK EXPIRES'];

const STATES: Readonly<Record<LinkState, string>> = {
  live: 'live',
  token_expired: 'token expired',
  unreadable: 'does not open',
  malformed: 'no token',
};

/** One row of a table under `LINK_HEAD`. @param time how a moment is shown. */
export function linkRow(link: LinkView, time: (at: string) => string): string[] {
  const { platform, user_id, state, email, person, token_expires_at, link_expires_at } = link;
  return [
    platform,
    user_id,
    email ?? '',
    person ? personInWords(person) : '',
    STATES[state],
    token_expires_at === null ? '' : time(token_expires_at),
    time(link_expires_at),
  ];
}
