import { decodeToken } from '../identity/decode-token.ts';
import { type Claims, personKey, type TokenValidator } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import { type LinkedChannel, userOfKey } from '../linking/link-ids.ts';
import { type LinkHolder, type LinkOutcome, link, removeLink } from '../linking/links.ts';
import type { Settings } from '../settings/settings.ts';
import type { Link } from '../store/links.ts';
import type { Store } from '../store/store.ts';
import { systemClock } from '../time/clock.ts';

/** The links between users of channels and persons. */
export type { LinkHolder, LinkOutcome };

const QUIET = { info() {}, warn() {} };

/** Links a user to the person of a token. @param mayReplace whether the link of this holder may be replaced */
export function linkUser(
  services: { store: Store; seal: Seal; tokens: TokenValidator },
  channel: LinkedChannel,
  user_id: string,
  token: string,
  mayReplace: (holder: LinkHolder) => boolean,
): Promise<LinkOutcome> {
  return link({ ...services, clock: systemClock, log: QUIET }, channel, user_id, token, mayReplace);
}

/** Removes the link of a user, under all spellings of the id. @returns whether there was one */
export function unlinkUser(
  services: { store: Store; seal: Seal },
  channel: LinkedChannel,
  user_id: string,
): Promise<boolean> {
  return removeLink({ ...services, log: QUIET }, channel, user_id);
}

/**
 * `live`: messages act as the person. `token_expired`: messages use the default credentials until the user links
 * again. `unreadable`: no encryption key decrypts the token. `malformed`: the stored value is not a token.
 */
export type LinkState = 'live' | 'token_expired' | 'unreadable' | 'malformed';

/** A link without its token. */
export interface OpenedLink {
  platform: string;
  user_id: string;
  state: LinkState;
  /** Null if the token cannot be read. */
  holder: { claims: Claims; person: ReturnType<typeof personKey>; token_expires_at: number } | null;
  link_expires_at: number;
}

/** Opens a stored link. Its token is decoded, not validated: the store contains only tokens that were valid. */
export function openLink(
  { key, token: stored, expires_at }: Link,
  now: number,
  seal: Pick<Seal, 'open'>,
  settings: Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>,
): OpenedLink {
  const token = seal.open(stored, key);
  const claims = token === null ? null : decodeToken(token).claims;
  const opened = { ...userOfKey(key), link_expires_at: expires_at };
  if (!claims) return { ...opened, state: token === null ? 'unreadable' : 'malformed', holder: null };
  const ends = Math.floor(claims.exp * 1000);
  const isExpired = settings.JWT_VERIFY_EXP && ends + settings.JWT_CLOCK_SKEW_SECONDS * 1000 <= now;
  return {
    ...opened,
    state: isExpired ? 'token_expired' : 'live',
    holder: { claims, person: personKey(claims), token_expires_at: ends },
  };
}
