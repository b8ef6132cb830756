import { byPersonOrNull, type PersonKey, type TokenOrigin } from '../../identity/identity.ts';
import { withdrawActions } from '../actions/questions.ts';
import { storeMessage } from '../inbox/inbox-document.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { listDocuments } from '../scans.ts';
import { stepsOf } from '../steps-of.ts';
import { hashOfToken, LINK_RENEWAL } from './link-renewal-document.ts';
import { isSignedOut } from './sign-out-marks.ts';
import { noteSiteSession } from './site-sessions.ts';
import { answerLinked, answerQuestion, endQuestion } from './waiting-questions.ts';

/**
 * Link records (agentd-identity(7), "Links"): which token belongs to a channel's user. The keys have the documented
 * form `<platform>:jwt:<user_id>`. The value is the token, which the layer above has sealed. The other data of a link
 * is deleted with the link. A backend in which the value can only be the token stores the other data under separate
 * keys.
 */
export interface LinkStore {
  /** The link; null if there is none or it has expired. */
  get(key: string): Promise<Link | null>;
  /**
   * The link under the first of these keys that has one, or else `findByAlias`. All of it is of one moment, so that no
   * older link takes effect while links are removed.
   */
  find(keys: readonly string[], alias: string): Promise<Link | null>;
  /** The link that this alias was last bound to, if that link still exists and still has the alias. */
  findByAlias(alias: string): Promise<Link | null>;
  /**
   * Stores the link of a user in place of the links that the user has (`replaceLinks`). If one of these has changed, or
   * the token has ended with a sign-out at the site, it returns false and writes nothing, and the caller must read the
   * links again. An alias that was bound for the same person is kept; any other alias is removed. If the id in the key is
   * itself an alias of another link, it no longer leads there.
   */
  put(link: NewLink, standing?: StandingTokens): Promise<boolean>;
  /**
   * Binds an alias to the link: from now on, `findByAlias` finds only this link, even if another link still has the
   * alias. Atomic. False if the link's token is no longer `token`, or if the link has a different alias of the same
   * person. In this case nothing is written, and the caller must read the link again.
   */
  bindAlias(key: string, token: string, alias: LinkAlias): Promise<boolean>;
  /**
   * Records that the platform has given the user id to somebody else: from now on, only the alias leads to the link. No
   * effect if the link's token is no longer `token`, or if it has no alias.
   */
  noteReassigned(key: string, token: string): Promise<void>;
  /**
   * Deletes links, by their keys, all in one step. If one of them no longer has this token, it returns false and changes
   * nothing, and the caller must read the links again.
   */
  remove(links: ReadonlyMap<string, string>, also?: LinkRemoval): Promise<boolean>;
  /**
   * The newest links that were stored for this person, oldest first, at most `OF_PERSON_MAX`. A link whose value was
   * written without `put` may be missing, or have a token of another person.
   */
  ofPerson(person: PersonKey): Promise<Link[]>;
  /** Lists links in the order of their keys. */
  list(filter: { platform?: string; limit: number }): Promise<Link[]>;
  /**
   * Records that the person was notified that this token has expired. For a new link, the person counts as not
   * notified.
   */
  noteExpiryNotified(key: string, token: string): Promise<void>;
}

export interface NewLink {
  key: string;
  token: string;
  /** The claims of the token. Absent for a token whose claims do not matter. */
  origin?: TokenOrigin;
  /** The person of the token. */
  person: PersonKey;
  ttl_ms: number;
  /** Default `token`. */
  how?: LinkHow;
  /** The name that the user has on the platform. */
  name?: string | null;
  /** Leads to the link from now on. Absent: the alias that was bound for the same person does. */
  alias?: LinkAlias;
  /** Whether the user is told in the private chat that the link has replaced that of another person. */
  isTold?: boolean;
}

/** The value of each key under which a user may have a link, when it was read; null if there was no link. */
export type StandingTokens = ReadonlyMap<string, string | null>;

interface LinkRemoval {
  /**
   * The keys of users who are signed out, with a link or without: their pending actions are withdrawn, and so are the
   * questions that wait for their sign-in.
   */
  signedOut?: readonly string[];
  /** Whether the user of the first link is told in the private chat that it has ended. */
  isTold?: boolean;
}

/** How a link was made: with the person's token, with a link code, or by an operator. */
export type LinkHow = 'token' | 'code' | 'operator';

export interface Link {
  key: string;
  /** The token as it was stored with `put`. */
  token: string;
  /** When the link ends, regardless of when its token expires. */
  expires_at: number;
  expiry_notified: boolean;
  alias: LinkAlias | null;
  how: LinkHow;
  /** The name that the user had on the platform when the link was made; null if it is not known. */
  name: string | null;
  /** When the link was made, ms since the epoch; null if it was written without `put`. */
  made_at: number | null;
}

/** Another id of a link's user, which the platform may send without the user id (`IncomingMessage.alias_id`). */
export interface LinkAlias {
  /** With the channel's name before it, so that aliases of different channels are never equal. */
  alias: string;
  /**
   * The person to whom the link belonged when the alias was bound. The value of a link can also be written without
   * `put`. If the new value belongs to another person, the link counts as having no alias.
   */
  person: PersonKey;
  /** The user id was seen with another alias since: the platform has given it to somebody else. */
  reassigned?: true;
}

export interface StoredLink extends Link {
  person: NewLink['person'];
}

/** Maximum lifetime of a link, ms. */
export const LINK_MS = 30 * 24 * 60 * 60 * 1000;
/** Maximum number of links of one person that `ofPerson` finds. */
export const OF_PERSON_MAX = 100;
/** Maximum number of links of one person that a step reads. */
const READ_MAX = 10_000;

/** What a kernel with shared texts stores beside the token of a link. */
type BesideLink = Pick<StoredLink, 'alias' | 'person' | 'how' | 'name' | 'made_at'> & {
  /** The hash of the token about which the person was notified. */
  notified: string | null;
};

export const LINK: Kind<StoredLink> = {
  name: 'link',
  expires: ({ expires_at }) => expires_at,
  // Of a link that another program has written, the person is not known.
  indexes: ({ person, made_at }) => {
    const index = byPersonOrNull(person);
    return index === null ? [] : [[index, -(made_at ?? 0)]];
  },
  isWide: () => true,
  shared: {
    keys: { glob: '*:jwt:*', exactly: /^[^:{]+:jwt:/ },
    text: ({ token }) => token,
    beside: ({ token, alias, person, how, name, made_at, expiry_notified }): BesideLink => ({
      alias,
      person,
      how,
      name,
      made_at,
      notified: expiry_notified ? hashOfToken(token) : null,
    }),
    read(token, { key, ends_at, beside, now }) {
      const { notified, ...others } = (beside ?? NOTHING_BESIDE) as BesideLink;
      const expiry_notified = notified !== null && notified === hashOfToken(token);
      return { key, token, expires_at: ends_at ?? now + LINK_MS, expiry_notified, ...others };
    },
  },
};

const NOTHING_BESIDE = {
  alias: null,
  person: '',
  notified: null,
  how: 'token',
  name: null,
  made_at: null,
};

/** The channel and the user in a documented key. The name of a channel contains no colon. */
export function userOfKey(key: string): { platform: string; user_id: string } {
  const [platform = '', , ...rest] = key.split(':');
  return { platform, user_id: rest.join(':') };
}

/** For each alias, the key of the link that it was last bound to. */
const ALIAS: Kind<{ key: string; expires_at: number }> = {
  name: 'alias',
  expires: ({ expires_at }) => expires_at,
};

export function linkStore(kernel: Kernel): LinkStore {
  const step = stepsOf(kernel);
  return {
    get: step((tx, key) => knownLink(tx.get(LINK, key))),
    find: step((tx, keys, alias) => {
      const named = keys.map((key) => tx.get(LINK, key)).find((link) => link !== null);
      const bound = findByAlias(tx, alias);
      return knownLink(named ?? bound);
    }),
    findByAlias: step((tx, alias) => knownLink(findByAlias(tx, alias))),
    put: step((tx, link, standing = new Map()) => replaceLinks(tx, link, standing)),
    bindAlias: step((tx, key, token, alias) => {
      const found = tx.get(LINK, key);
      if (found?.token !== token) return false;
      if (found.alias?.person === alias.person && found.alias.alias !== alias.alias) return false;
      tx.put(LINK, key, { ...found, alias });
      tx.put(ALIAS, alias.alias, { key, expires_at: found.expires_at });
      return true;
    }),
    noteReassigned: step((tx, key, token) => {
      const found = tx.get(LINK, key);
      if (found?.token === token && found.alias !== null)
        tx.put(LINK, key, { ...found, alias: { ...found.alias, reassigned: true } });
    }),
    remove: step((tx, links, { signedOut = [], isTold = false } = {}) => {
      if (!areStanding(tx, links)) return false;
      for (const key of signedOut) {
        withdrawActions(tx, userOfKey(key));
        endQuestion(tx, key);
      }
      const [first] = links.keys();
      for (const key of links.keys()) removeLink(tx, tx.get(LINK, key) as StoredLink);
      if (isTold && first !== undefined) storeNotice(tx, first, 'ended');
      return true;
    }),
    ofPerson: step((tx, person) =>
      linksBy(tx, byPersonOrNull(person) ?? '')
        .filter((link) => link.person === person)
        .slice(0, OF_PERSON_MAX)
        .map(toLink)
        .reverse(),
    ),
    list: async ({ platform, limit }) =>
      (
        await listDocuments(
          kernel,
          LINK,
          ({ key }) => platform === undefined || key.startsWith(`${platform}:jwt:`),
        )
      )
        .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
        .slice(0, limit)
        .map(toLink),
    noteExpiryNotified: step((tx, key, token) => {
      const found = tx.get(LINK, key);
      if (found?.token === token) tx.put(LINK, key, { ...found, expiry_notified: true });
    }),
  };
}

function findByAlias(tx: Tx, alias: string): StoredLink | null {
  const key = tx.get(ALIAS, alias)?.key;
  const link = key === undefined ? null : tx.get(LINK, key);
  return link?.alias?.alias === alias ? link : null;
}

/**
 * Stores the link of a user. Every link is made here. Links of the user under other keys are removed, and the user's
 * pending actions for other people are withdrawn.
 * @returns false if one of the links has changed, or if the token has ended with a sign-out; then nothing is written
 */
export function replaceLinks(tx: Tx, link: NewLink, standing: StandingTokens): boolean {
  const { key: own, origin, person, isTold = false } = link;
  const all = new Map([[own, null], ...standing]);
  const isOver = origin !== undefined && isSignedOut(tx, origin);
  if (!areStanding(tx, all) || isOver) return false;
  for (const key of all.keys()) {
    withdrawActions(tx, { ...userOfKey(key), keep: person });
    const found = key === own ? null : tx.get(LINK, key);
    if (found !== null) removeLink(tx, found);
  }
  putLink(tx, link);
  if (isTold) storeNotice(tx, own, 'replaced');
  return true;
}

/** Whether each key has the link that it had when it was read. */
function areStanding(tx: Tx, tokens: StandingTokens): boolean {
  const found = [...tokens].map(([key, token]) => (tx.get(LINK, key)?.token ?? null) === token);
  return !found.includes(false);
}

/**
 * Stores a text for a user whose link was ended or replaced where no channel runs, as `agentd link remove` does
 * (agentd-identity(7), "Links"). It has no token and no data about a person apart from the user's id. Its words and the
 * private chat of the user are found when it is sent.
 */
function storeNotice(tx: Tx, key: string, link_change: 'ended' | 'replaced'): void {
  const { platform, user_id } = userOfKey(key);
  // Random, as the owner of a claim is. An id that began with a dash would look like an option of a command.
  const id = `link-${tx.newOwner()}`;
  storeMessage(tx, {
    id,
    platform,
    user_id,
    request_id: id,
    sent_at: tx.now,
    queue: `${platform}/link ${user_id}`,
    session_id: null,
    message_id: null,
    message: null,
    reply_to: {},
    reply: '',
    link_change,
    is_hint: true,
  });
}

function putLink(
  tx: Tx,
  { key, token, origin, person, ttl_ms, how = 'token', name = null, alias }: NewLink,
): void {
  const found = tx.get(LINK, key);
  const expires_at = tx.now + ttl_ms;
  const kept = found?.alias?.person === person ? found.alias : null;
  tx.delete(LINK_RENEWAL, key);
  // When this link ends, no older link of the same id takes effect in its place.
  const { platform, user_id } = userOfKey(key);
  tx.delete(ALIAS, `${platform}:${user_id}`);
  const leads = alias ?? (kept !== null && tx.get(ALIAS, kept.alias)?.key === key ? kept : null);
  tx.put(LINK, key, {
    key,
    token,
    person,
    expires_at,
    expiry_notified: false,
    alias: alias ?? kept,
    how,
    name,
    made_at: tx.now,
  });
  if (origin !== undefined) noteSiteSession(tx, origin, expires_at);
  answerQuestion(tx, { key, person, by_operator: how === 'operator' }, found?.person ?? null);
  if (leads !== null) tx.put(ALIAS, leads.alias, { key, expires_at });
}

/** Takes the question that waits for a link under this key, if the link was made while its run was going on. */
export function answerIfLinked(tx: Tx, key: string): void {
  const link = tx.get(LINK, key);
  if (link !== null) answerLinked(tx, link);
}

/** The links with a token of a person (`byPerson`), newest first. */
export function linksBy(tx: Tx, person: string): StoredLink[] {
  return tx.first(LINK, person, READ_MAX).flatMap(({ key }) => tx.get(LINK, key) ?? []);
}

/** Deletes a link, and the alias that leads to it. */
export function removeLink(tx: Tx, { key, alias }: Pick<StoredLink, 'key' | 'alias'>): void {
  tx.delete(LINK, key);
  endQuestion(tx, key);
  tx.delete(LINK_RENEWAL, key);
  if (alias !== null && tx.get(ALIAS, alias.alias)?.key === key) tx.delete(ALIAS, alias.alias);
}

function knownLink(stored: StoredLink | null): Link | null {
  return stored && toLink(stored);
}

export function toLink({ person: _person, ...link }: StoredLink): Link {
  return link;
}
