import type { PersonKey } from '../identity/identity.ts';

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
   * Writes a link if the value of the key is still `expected` (a value from `get`, or null if there was no link);
   * atomic. Otherwise it returns false and writes nothing, and the caller must read the link again. An alias that was
   * bound for the same person is kept; any other alias is removed.
   */
  put(link: NewLink, expected: string | null): Promise<boolean>;
  /**
   * Binds an alias to the link: from now on, `findByAlias` finds only this link, even if another link still has the
   * alias. Atomic. False if the link's token is no longer `token`, or if the link has a different alias of the same
   * person. In this case nothing is written, and the caller must read the link again.
   */
  bindAlias(key: string, token: string, alias: LinkAlias): Promise<boolean>;
  /** Deletes a link; if `expected` is given, only if the link still has this value. False if nothing was deleted. */
  remove(key: string, expected?: string): Promise<boolean>;
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
  /** The person of the token. */
  person: PersonKey;
  ttl_ms: number;
}

export interface Link {
  key: string;
  /** The token as it was stored with `put`. */
  token: string;
  /** When the link ends, regardless of when its token expires. */
  expires_at: number;
  expiry_notified: boolean;
  alias: LinkAlias | null;
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
}
