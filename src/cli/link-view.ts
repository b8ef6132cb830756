import { type LinkState, openLink } from '../daemon/admin/links.ts';
import type { Column } from './column.ts';
import { type PersonView, personInWords, personView } from './session-view.ts';

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

export function linkView(...args: Parameters<typeof openLink>): LinkView {
  const { holder, ...link } = openLink(...args);
  if (holder === null)
    return { ...link, email: null, person: null, token_expires_at: null, expires_at: null };
  const { claims, person, token_expires_at } = holder;
  return {
    ...link,
    email: claims.email,
    person: personView(person),
    token_expires_at,
    expires_at: Math.min(token_expires_at, link.link_expires_at),
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
