import { type LinkState, linkCondition, openLink } from '../../daemon/admin/records.ts';
import { CHANNEL_COLUMN } from '../names/channel-titles.ts';
import type { CellColor, Column } from '../output.ts';
import { personInWords, personView } from './person-view.ts';

/** A link without its token. */
type LinkView = ReturnType<typeof linkView>;

/** A link with what became of its renewal. */
export async function linkListView(
  store: Parameters<typeof linkCondition>[1],
  ...[link, now, seal, settings]: Parameters<typeof openLink>
) {
  const { renewal, isSignedOut } = await linkCondition(link, store, seal);
  const view = linkView(link, now, seal, settings);
  return {
    ...view,
    state: isSignedOut ? ('signed_out' as LinkState) : view.state,
    renewed_at: renewal?.renewed_at ?? null,
    renewal_failed: renewal?.failed?.reason ?? null,
    renewal_failed_at: renewal?.failed?.at ?? null,
  };
}

export function linkView(...args: Parameters<typeof openLink>) {
  const { holder, state: found, ...opened } = openLink(...args);
  const state = found as LinkState;
  const link = { ...opened, state };
  if (holder === null)
    return { ...link, email: null, person: null, token_expires_at: null, expires_at: null };
  const { claims, person, token_expires_at } = holder;
  return {
    ...link,
    email: claims.email,
    person: personView(person),
    token_expires_at,
    // The earlier of the two.
    expires_at: Math.min(token_expires_at, link.link_expires_at),
  };
}

const STATES: Readonly<Record<LinkState, string>> = {
  live: 'live',
  token_expired: 'token expired',
  signed_out: 'signed out',
  unreadable: 'cannot decrypt',
  malformed: 'not a token',
};

export const LINK_COLUMNS: readonly Column<LinkView>[] = [
  CHANNEL_COLUMN,
  { title: 'USER', json: 'user_id', narrow: 'cut' },
  { title: 'PERSON', json: 'email', narrow: 'cut' },
  { title: 'SUB', json: 'person', text: ({ person }) => person && personInWords(person), isWide: true },
  {
    title: 'STATE',
    json: 'state',
    text: ({ state }) => STATES[state],
    color: ({ state }) => LINK_COLORS[state],
  },
  { title: 'TOKEN EXPIRES', json: 'token_expires_at', isTime: true, isWide: true },
  { title: 'LINK EXPIRES', json: 'link_expires_at', isTime: true, isWide: true },
  { title: 'MADE WITH', json: 'how' },
  { json: 'made_at', isTime: true },
  // The earlier of the two.
  { title: 'EXPIRES', json: 'expires_at', isTime: true, isWide: false },
];

const LINK_COLORS: Readonly<Record<LinkState, CellColor>> = {
  live: 'green',
  token_expired: 'yellow',
  signed_out: 'yellow',
  unreadable: 'red',
  malformed: 'red',
};

export const LINK_LIST_COLUMNS: readonly Column<Awaited<ReturnType<typeof linkListView>>>[] = [
  ...LINK_COLUMNS,
  { title: 'RENEWED', json: 'renewed_at', isTime: true, isWide: true, isRare: true },
  { title: 'NOT RENEWED', json: 'renewal_failed', color: () => 'red', narrow: 'wrap', isRare: true },
  { json: 'renewal_failed_at', isTime: true },
];
