import type { Link, LinkStore } from '../links.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import type { StoredLink } from './state.ts';

export function linkSteps({ state, clock }: MemoryContext): Steps<LinkStore> {
  const isAlive = (link: StoredLink) => link.expires_at > clock.now();
  const get = (key: string) => {
    const link = state.links.get(key);
    return link && isAlive(link) ? link : null;
  };
  const findByAlias = (alias: string) =>
    [...state.links.values()].find((link) => link.is_found_by_alias && link.alias?.alias === alias);
  return {
    get: (key) => linkOf(get(key)),
    findByAlias(alias) {
      const link = findByAlias(alias);
      return link && isAlive(link) ? linkOf(link) : null;
    },
    put({ key, token, person, ttl_ms }, expected) {
      const found = get(key);
      if ((found?.token ?? null) !== expected) return false;
      const isKept = found?.alias?.person === person;
      state.links.set(key, {
        key,
        token,
        person,
        expires_at: clock.now() + ttl_ms,
        expiry_notified: false,
        alias: isKept ? found.alias : null,
        is_found_by_alias: isKept && found.is_found_by_alias,
      });
      return true;
    },
    bindAlias(key, token, alias) {
      const found = get(key);
      if (found?.token !== token) return false;
      if (found.alias?.person === alias.person && found.alias.alias !== alias.alias) return false;
      const before = findByAlias(alias.alias);
      if (before) before.is_found_by_alias = false;
      found.alias = alias;
      found.is_found_by_alias = true;
      return true;
    },
    remove(key, expected) {
      const found = get(key);
      if (!found || (expected !== undefined && found.token !== expected)) return false;
      return state.links.delete(key);
    },
    list: ({ platform, limit }) =>
      [...state.links.values()]
        .filter(
          (link) => isAlive(link) && (platform === undefined || link.key.startsWith(`${platform}:jwt:`)),
        )
        .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
        .slice(0, limit)
        .map((link) => linkOf(link) as Link),
    noteExpiryNotified(key, token) {
      const found = get(key);
      if (found?.token === token) found.expiry_notified = true;
    },
  };
}

function linkOf(stored: StoredLink | null): Link | null {
  if (stored === null) return null;
  const { key, token, expires_at, expiry_notified, alias } = stored;
  return { key, token, expires_at, expiry_notified, alias };
}
