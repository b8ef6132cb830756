import { createHash } from 'node:crypto';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import type { Link, LinkStore, NewLink } from '../links.ts';
import { listed } from './listed.ts';

export interface StoredLink extends Link {
  person: NewLink['person'];
}

/** Maximum lifetime of a link, ms. */
const LINK_MS = 30 * 24 * 60 * 60 * 1000;

/** What a kernel with shared texts stores beside the token of a link. */
type BesideLink = Pick<StoredLink, 'alias' | 'person'> & {
  /** The hash of the token about which the person was notified. */
  notified: string | null;
};

export const LINK: Kind<StoredLink> = {
  name: 'link',
  expires: ({ expires_at }) => expires_at,
  shared: {
    keys: { glob: '*:jwt:*', exactly: /^[^:{]+:jwt:/ },
    text: ({ token }) => token,
    beside: ({ token, alias, person, expiry_notified }): BesideLink => ({
      alias,
      person,
      notified: expiry_notified ? hashOf(token) : null,
    }),
    read(token, { key, ends_at, beside, now }) {
      const { alias, person, notified } = (beside ?? NOTHING_BESIDE) as BesideLink;
      const expiry_notified = notified !== null && notified === hashOf(token);
      return { key, token, expires_at: ends_at ?? now + LINK_MS, expiry_notified, alias, person };
    },
  },
};

const NOTHING_BESIDE = { alias: null, person: '', notified: null };

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** For each alias, the key of the link that it was last bound to. */
const ALIAS: Kind<{ key: string; expires_at: number }> = {
  name: 'alias',
  expires: ({ expires_at }) => expires_at,
};

export function linkStore(kernel: Kernel): LinkStore {
  return {
    get: (key) => kernel.step((tx) => knownLink(tx.get(LINK, key))),
    find: (keys, alias) =>
      kernel.step((tx) => {
        const named = keys.map((key) => tx.get(LINK, key)).find((link) => link !== null);
        const bound = findByAlias(tx, alias);
        return knownLink(named ?? bound);
      }),
    findByAlias: (alias) => kernel.step((tx) => knownLink(findByAlias(tx, alias))),
    put: ({ key, token, person, ttl_ms }, expected) =>
      kernel.step((tx) => {
        const found = tx.get(LINK, key);
        if ((found?.token ?? null) !== expected) return false;
        const expires_at = tx.now + ttl_ms;
        const alias = found?.alias?.person === person ? found.alias : null;
        tx.put(LINK, key, { key, token, person, expires_at, expiry_notified: false, alias });
        if (alias !== null && tx.get(ALIAS, alias.alias)?.key === key)
          tx.put(ALIAS, alias.alias, { key, expires_at });
        return true;
      }),
    bindAlias: (key, token, alias) =>
      kernel.step((tx) => {
        const found = tx.get(LINK, key);
        if (found?.token !== token) return false;
        if (found.alias?.person === alias.person && found.alias.alias !== alias.alias) return false;
        tx.put(LINK, key, { ...found, alias });
        tx.put(ALIAS, alias.alias, { key, expires_at: found.expires_at });
        return true;
      }),
    remove: (key, expected) =>
      kernel.step((tx) => {
        const found = tx.get(LINK, key);
        if (!found || (expected !== undefined && found.token !== expected)) return false;
        removeLink(tx, found);
        return true;
      }),
    list: async ({ platform, limit }) =>
      (await listed(kernel, LINK, ({ key }) => platform === undefined || key.startsWith(`${platform}:jwt:`)))
        .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
        .slice(0, limit)
        .map(linkOf),
    noteExpiryNotified: (key, token) =>
      kernel.step((tx) => {
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

/** Deletes a link, and the alias that leads to it. */
export function removeLink(tx: Tx, { key, alias }: Pick<StoredLink, 'key' | 'alias'>): void {
  tx.delete(LINK, key);
  if (alias !== null && tx.get(ALIAS, alias.alias)?.key === key) tx.delete(ALIAS, alias.alias);
}

function knownLink(stored: StoredLink | null): Link | null {
  return stored && linkOf(stored);
}

export function linkOf({ person: _person, ...link }: StoredLink): Link {
  return link;
}
