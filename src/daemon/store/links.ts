import type { PersonKey } from '../identity/identity.ts';

/**
 * Link records (agentd-identity(7), "Links"): which token stands for a channel's user. Keys are the documented ones,
 * `<platform>:jwt:<user_id>`; the value is the token, sealed by the layer above. What else is known of a link ends with
 * it, and has keys of its own if the value must stay alone.
 */
export interface LinkStore {
  /** The link; null if there is none or it has expired. */
  get(key: string): Promise<Link | null>;
  /** The link that this alias was bound to last, if that link still exists and has it. */
  findByAlias(alias: string): Promise<Link | null>;
  /**
   * Writes a link, if the value of the key is still `expected` (a value as `get` gave it; null: nothing);
   * atomic. False otherwise: nothing is written, look again. Its alias stays if it was bound for the same
   * person, else it goes.
   */
  put(link: NewLink, expected: string | null): Promise<boolean>;
  /**
   * Binds an alias to the link: it is found by it from now on, and no other link is, though that one keeps it.
   * Atomic. False if the link's token is not `token` any more, or it has another alias of the same person:
   * nothing is written, look again.
   */
  bindAlias(key: string, token: string, alias: LinkAlias): Promise<boolean>;
  /** Deletes a link; with `expected`, only if it still has this value. False if there was none. */
  remove(key: string, expected?: string): Promise<boolean>;
  /** In the order of their keys. */
  list(filter: { platform?: string; limit: number }): Promise<Link[]>;
  /** Notes that the person was told that this token has expired; of a new link nobody was told. */
  noteExpiryNotified(key: string, token: string): Promise<void>;
}

export interface NewLink {
  key: string;
  token: string;
  /** Of the token. */
  person: PersonKey;
  ttl_ms: number;
}

export interface Link {
  key: string;
  /** As it was put. */
  token: string;
  /** When the link ends, whatever its token says. */
  expires_at: number;
  expiry_notified: boolean;
  alias: LinkAlias | null;
}

/** Another id of a link's user, which the platform may send alone (`IncomingMessage.alias_id`). */
export interface LinkAlias {
  /** With the channel's name before it, so that no two channels' meet. */
  alias: string;
  /** Whose link it was then. A value may be written by others than `put`: another person's has no alias. */
  person: PersonKey;
}
