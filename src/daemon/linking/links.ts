import type { UnlinkAnswer } from '../../channel/index.ts';
import { personKey, type TokenReason, type TokenVerdict } from '../identity/identity.ts';
import type { LinkHow, LinkStore } from '../store/links/links.ts';
import {
  changing,
  findByAlias,
  type LinkHolder,
  type LinkServices,
  type Lookup,
  listLinksUnder,
  MAX_TRIES,
  openLink,
  type PersonsLink,
  readHolder,
  standingTokens,
} from './find-link.ts';
import { type LinkedChannel, linkKeys } from './link-ids.ts';

/** Lifetime of a link (agentd-identity(7), "Links"): 30 days. */
export const LINK_TTL_MS = 2_592_000 * 1000;

export type LinkOutcome =
  | {
      linked: true;
      verdict: Extract<TokenVerdict, { valid: true }>;
      expires_at: number;
      /** Another person whose link was replaced; null if there is none. */
      replaced: LinkHolder | null;
    }
  | { linked: false; reason: TokenReason }
  /** The link belongs to another person, has not expired, and must not be replaced. */
  | { linked: false; reason: 'held_by_another'; holder: LinkHolder };

/**
 * Validates a token and stores it as the link of a channel's user, sealed, for 30 days. It is stored under the first
 * spelling of the id, and links under other spellings are removed. If another person's link exists and its token has
 * not expired, it is replaced only if `mayReplace` allows it. The decision and the replacement are one atomic step.
 * Throws `unavailable` if others keep writing the same link.
 */
export async function link(
  services: LinkServices,
  channel: LinkedChannel,
  user_id: string,
  token: string,
  mayReplace: (holder: LinkHolder) => boolean = () => true,
  how: LinkHow = 'token',
): Promise<LinkOutcome> {
  const verdict = await services.tokens.validate(token);
  if (!verdict.valid) return { linked: false, reason: verdict.reason };
  const { person } = verdict;
  const keys = linkKeys(channel, user_id);
  const [key] = keys;
  const sealed = services.seal.close(token, key);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await services.store.signOutMarks.covers(verdict.claims))
      return { linked: false, reason: 'Signed Out' };
    const standing = await listLinksUnder(keys, services);
    const holders = standing.map((one) => readHolder(one, services));
    const strangers = holders.filter((one) => one !== null && one.person !== person);
    const holder = strangers.find((one) => one !== null && !mayReplace(one));
    if (holder) return { linked: false, reason: 'held_by_another', holder };
    const [replaced = null] = strangers;
    const isKept = standing.some((one) => one.key === key);
    const alias = isKept ? null : standing.find((one) => one.alias?.person === person)?.alias;
    const made = {
      key,
      token: sealed,
      person,
      origin: verdict.claims,
      how,
      ttl_ms: LINK_TTL_MS,
      ...(alias ? { alias } : {}),
      isTold: how === 'operator' && replaced !== null,
    };
    if (!(await services.store.links.put(made, standingTokens(keys, standing)))) continue;
    services.log.info({ channel: channel.name, sub: verdict.user.user_id }, 'linked');
    const expires_at = Math.min(verdict.expires_at, services.clock.now() + LINK_TTL_MS);
    return { linked: true, verdict, expires_at, replaced };
  }
  throw changing();
}

/**
 * Signs a channel's user out: withdraws the user's pending actions, ends the question that waits for sign-in, and removes
 * the link, whichever person it belongs to. True if there was one.
 */
export function unlink(services: Lookup, channel: LinkedChannel, user_id: string): Promise<boolean> {
  return removeLinks(services, channel, user_id, { signedOut: linkKeys(channel, user_id) });
}

/**
 * Removes the link of a channel's user at the request of an operator, and tells the user. The user is not signed out:
 * pending actions stay, and are answered after the next sign-in of the same person. True if there was a link.
 */
export function removeLink(services: Lookup, channel: LinkedChannel, user_id: string): Promise<boolean> {
  return removeLinks(services, channel, user_id, { isTold: true });
}

async function removeLinks(
  services: Lookup,
  channel: LinkedChannel,
  user_id: string,
  also: Parameters<LinkStore['remove']>[1],
): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const standing = await listLinksUnder(linkKeys(channel, user_id), services);
    const links = standing.map(({ key, token }) => [key, token] as const);
    const other = links.length > 0 ? null : await findByAlias(services, channel, user_id);
    if (other !== null) links.push([other.key, other.stored]);
    if (!(await services.store.links.remove(new Map(links), also))) continue;
    if (links.length > 0) services.log.info({ channel: channel.name }, 'unlinked');
    return links.length > 0;
  }
  throw changing();
}

/** Removes the link of a channel's user if it belongs to the person of the token. Links of other people are kept. */
export async function unlinkPerson(
  services: LinkServices,
  channel: LinkedChannel,
  user_id: string,
  token: string,
): Promise<UnlinkAnswer> {
  const verdict = await services.tokens.validate(token);
  if (!verdict.valid) return { outcome: 'invalid', reason: verdict.reason };
  const isRemoved = await removePersonsLink(services, channel, { user_id, claims: verdict.claims });
  return { outcome: isRemoved ? 'removed' : 'none' };
}

/**
 * Removes the links of a channel's user that belong to this person, and signs the user out. The link of another person is
 * kept, even if it replaced this person's link just now. True if there was one, also if its token was renewed meanwhile.
 */
export async function removePersonsLink(
  services: Lookup,
  channel: LinkedChannel,
  { user_id, claims }: Pick<PersonsLink, 'user_id' | 'claims'>,
): Promise<boolean> {
  const person = personKey(claims);
  const keys = linkKeys(channel, user_id);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const standing = await listLinksUnder(keys, services);
    const own = standing.filter((link) => openLink(link, channel, services)?.person === person);
    if (own.length === 0) return false;
    const links = new Map(own.map(({ key, token }) => [key, token]));
    if (!(await services.store.links.remove(links, { signedOut: keys }))) continue;
    services.log.info({ channel: channel.name, sub: claims.sub }, 'unlinked');
    return true;
  }
  throw changing();
}
