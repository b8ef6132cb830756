import type { UnlinkAnswer } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { House } from '../house.ts';
import type { Link } from '../store/store.ts';
import { type Claims, type PersonKey, personKey, type TokenReason, type TokenVerdict } from './identity.ts';
import { claimsOfStoredToken } from './stored-token.ts';

/** Life of a link (service.md, "Token lookup records"): 30 days. */
const LINK_TTL_MS = 2_592_000 * 1000;

/** How often a link is looked at again when others write it at the same time. */
const MAX_TRIES = 5;

export type LinkServices = Pick<House, 'store' | 'seal' | 'tokens' | 'clock' | 'log'>;

/** The documented key; also the record that a sealed token is bound to. */
export function linkKey(platform: string, user_id: string): string {
  return `${platform}:jwt:${user_id}`;
}

/** A link and the token in it, unsealed. */
export interface FoundLink {
  key: string;
  token: string;
  /** The token as it is stored. */
  stored: string;
  /** When the link ends; its token may have ended before (`effectiveExpiry`). */
  expires_at: number;
  lapse_told: boolean;
}

/** The link of a channel's user; null where there is none, or no key opens it, which is warned of. */
export async function findLink(
  { store, seal, log }: Pick<LinkServices, 'store' | 'seal' | 'log'>,
  platform: string,
  user_id: string,
): Promise<FoundLink | null> {
  const link = await store.links.get(linkKey(platform, user_id));
  if (!link) return null;
  const token = seal.open(link.token, link.key);
  if (token === null) {
    log.warn({ channel: platform }, 'linked token does not open with any TOKEN_ENCRYPTION_KEY');
    return null;
  }
  return {
    key: link.key,
    token,
    stored: link.token,
    expires_at: link.expires_at,
    lapse_told: link.lapse_told,
  };
}

/** Who holds a link that another person would like to have. */
export interface LinkHolder {
  person: PersonKey;
  claims: Claims;
}

export type LinkOutcome =
  | { linked: true; verdict: Extract<TokenVerdict, { valid: true }>; expires_at: number }
  | { linked: false; reason: TokenReason }
  /** Another person's link, not expired, that may not be taken over. */
  | { linked: false; reason: 'held_by_another' };

/**
 * Validates a token and stores it as the link of a channel's user, sealed, for 30 days. The link of another
 * person whose token has not expired is replaced only where `mayReplace` agrees; deciding and replacing are
 * one. Throws `unavailable` where others keep writing the same link.
 */
export async function link(
  house: LinkServices,
  platform: string,
  user_id: string,
  token: string,
  mayReplace: (holder: LinkHolder, claims: Claims) => boolean = () => true,
): Promise<LinkOutcome> {
  const verdict = await house.tokens.validate(token);
  if (!verdict.valid) return { linked: false, reason: verdict.reason };
  const key = linkKey(platform, user_id);
  const sealed = house.seal.close(token, key);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const standing = await house.store.links.get(key);
    const holder = standing && holderOf(standing, house);
    if (holder && holder.person !== verdict.person && !mayReplace(holder, verdict.claims)) {
      return { linked: false, reason: 'held_by_another' };
    }
    if (await house.store.links.put(key, sealed, standing?.token ?? null, LINK_TTL_MS)) {
      const expires_at = Math.min(verdict.expires_at, house.clock.now() + LINK_TTL_MS);
      house.log.info({ channel: platform, sub: verdict.user.user_id }, 'linked');
      return { linked: true, verdict, expires_at };
    }
  }
  throw new AgentdError('unavailable', 'This link is being changed by others.', { retryAfter: 1 });
}

/** True where there was a link. */
export async function unlink(
  { store, log }: Pick<LinkServices, 'store' | 'log'>,
  platform: string,
  user_id: string,
): Promise<boolean> {
  const removed = await store.links.remove(linkKey(platform, user_id));
  if (removed) log.info({ channel: platform }, 'unlinked');
  return removed;
}

/** Removes the link of a channel's user where it is that of the token's person; another's stays. */
export async function unlinkPerson(
  house: LinkServices,
  platform: string,
  user_id: string,
  token: string,
): Promise<UnlinkAnswer> {
  const verdict = await house.tokens.validate(token);
  if (!verdict.valid) return { outcome: 'invalid', reason: verdict.reason };
  const found = await findLink(house, platform, user_id);
  if (found === null || personKey(claimsOfStoredToken(found.token)) !== verdict.person)
    return { outcome: 'none' };
  // Only what was looked at: a link that another person made meanwhile stays.
  const removed = await house.store.links.remove(found.key, found.stored);
  if (removed) house.log.info({ channel: platform, sub: verdict.user.user_id }, 'unlinked');
  return { outcome: removed ? 'removed' : 'none' };
}

/** When a link is no longer any use: its own end or that of its token, whichever comes first (decisions §4). */
export function effectiveExpiry({ expires_at, token }: Pick<FoundLink, 'expires_at' | 'token'>): number {
  return Math.min(expires_at, claimsOfStoredToken(token).exp * 1000);
}

/** Null where the link's token has expired, or cannot be read: then it is nobody's any more. */
function holderOf(standing: Link, { seal, clock }: LinkServices): LinkHolder | null {
  const token = seal.open(standing.token, standing.key);
  if (token === null || effectiveExpiry({ ...standing, token }) <= clock.now()) return null;
  const claims = claimsOfStoredToken(token);
  return { person: personKey(claims), claims };
}
