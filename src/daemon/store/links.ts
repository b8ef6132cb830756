import type { PersonKey } from '../identity/identity.ts';

/**
 * Link records (agentd-identity(7), "Links"): which token belongs to a channel's user. Keys are the documented ones,
 * `<platform>:jwt:<user_id>`; the value is the token, sealed by the layer above. Other data of a link ends with the
 * link, and is stored under separate keys in backends where the value must be only the token.
 */
export interface LinkStore {
  /** The link; null if there is none or it has expired. */
  get(key: string): Promise<Link | null>;
  /** The link that this alias was last bound to, if that link still exists and still has the alias. */
  findByAlias(alias: string): Promise<Link | null>;
  /**
   * Writes a link, if the value of the key is still `expected` (a value from `get`, or null if there was none); atomic.
   * Otherwise nothing is written, and the result is false: read it again. Its alias stays if it was bound for the same
   * person; otherwise it is removed.
   */
  put(link: NewLink, expected: string | null): Promise<boolean>;
  /**
   * Binds an alias to the link: from now on, the alias finds this link and no other one, although another link may keep
   * the alias. Atomic. False if the link's token is no longer `token`, or if the link has a different alias of the same
   * person: nothing is written, read it again.
   */
  bindAlias(key: string, token: string, alias: LinkAlias): Promise<boolean>;
  /** Deletes a link; with `expected`, only if it still has this value. False if there was none. */
  remove(key: string, expected?: string): Promise<boolean>;
  /** Lists links in the order of their keys. */
  list(filter: { platform?: string; limit: number }): Promise<Link[]>;
  /**
   * Records that the person was notified that this token has expired. For a new link, the person has not been notified.
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
  /** When the link ends, regardless of its token. */
  expires_at: number;
  expiry_notified: boolean;
  alias: LinkAlias | null;
}

/** Another id of a link's user, which the platform may send without the user id (`IncomingMessage.alias_id`). */
export interface LinkAlias {
  /** With the channel's name before it, so that aliases of different channels are never equal. */
  alias: string;
  /**
   * The person whose link it was at that time. A value may be written without `put`: if it belongs to another person,
   * the link has no alias.
   */
  person: PersonKey;
}
