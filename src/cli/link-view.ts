import { decodeToken } from '../daemon/identity/decode-token.ts';
import { personKey } from '../daemon/identity/identity.ts';
import type { Seal } from '../daemon/identity/seal.ts';
import { userOfKey } from '../daemon/linking/link-ids.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { Link } from '../daemon/store/links.ts';
import type { Column } from './column.ts';
import { type PersonView, personInWords, personView } from './session-view.ts';

/**
 * `live`: messages act as the person. `token_expired`: messages use the default credentials until the user links
 * again. `unreadable`: no encryption key decrypts the token. `malformed`: the stored value is not a token.
 */
export type LinkState = 'live' | 'token_expired' | 'unreadable' | 'malformed';

/** A link without its token. */
export interface LinkView {
  platform: string;
  user_id: string;
  state: LinkState;
  email: string | null;
  person: PersonView | null;
  token_expires_at: number | null;
  link_expires_at: number;
  /** The earlier of `token_expires_at` and `link_expires_at`; null if the token cannot be read. */
  expires_at: number | null;
}

export function linkView(
  { key, token: stored, expires_at }: Link,
  now: number,
  seal: Seal,
  settings: Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>,
): LinkView {
  const token = seal.open(stored, key);
  const claims = token === null ? null : decodeToken(token).claims;
  const view = { ...userOfKey(key), link_expires_at: expires_at };
  if (!claims) {
    const state = token === null ? 'unreadable' : 'malformed';
    return { ...view, state, email: null, person: null, token_expires_at: null, expires_at: null };
  }
  const ends = Math.floor(claims.exp * 1000);
  const isExpired = settings.JWT_VERIFY_EXP && ends + settings.JWT_CLOCK_SKEW_SECONDS * 1000 <= now;
  return {
    ...view,
    state: isExpired ? 'token_expired' : 'live',
    email: claims.email,
    person: personView(personKey(claims)),
    token_expires_at: ends,
    expires_at: Math.min(ends, expires_at),
  };
}

const STATES: Readonly<Record<LinkState, string>> = {
  live: 'live',
  token_expired: 'token expired',
  unreadable: 'cannot decrypt',
  malformed: 'not a token',
};

export const LINK_COLUMNS: readonly Column<LinkView>[] = [
  { title: 'CHANNEL', json: 'platform' },
  { title: 'USER', json: 'user_id', narrow: 'cut' },
  { title: 'E-MAIL', json: 'email', narrow: 'cut' },
  { title: 'SUB', json: 'person', text: ({ person }) => person && personInWords(person), narrow: 'cut' },
  { title: 'STATE', json: 'state', text: ({ state }) => STATES[state] },
  { title: 'TOKEN EXPIRES', json: 'token_expires_at', isTime: true },
  { title: 'LINK EXPIRES', json: 'link_expires_at', isTime: true },
  { json: 'expires_at', isTime: true },
];
