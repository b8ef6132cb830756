import type { UnlinkAnswer } from '../../channel/index.ts';
import type { Clock } from '../clock.ts';
import { AgentdError } from '../errors.ts';
import {
  type Claims,
  type PersonKey,
  personKey,
  type TokenReason,
  type TokenValidator,
  type TokenVerdict,
} from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import { claimsOfStoredToken } from '../identity/stored-token.ts';
import type { Log } from '../log.ts';
import type { Link } from '../store/links.ts';
import type { Store } from '../store/store.ts';
import { aliasKey, type LinkedChannel, linkKeys, writingsOf } from './link-ids.ts';

/** Life of a link (agentd-identity(7), "Links"): 30 days. */
const LINK_TTL_MS = 2_592_000 * 1000;

/** How often a link is looked at again when others write it at the same time. */
const MAX_TRIES = 5;

export interface LinkServices {
  store: Pick<Store, 'links' | 'actions'>;
  seal: Seal;
  tokens: TokenValidator;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn'>;
}
type Lookup = Pick<LinkServices, 'store' | 'seal' | 'log'>;

/** A link and the token in it, unsealed. */
export interface FoundLink {
  key: string;
  token: string;
  /** The token as it is stored. */
  stored: string;
  /** Of the token, which was validated when it was stored. */
  person: PersonKey;
  /** When the link ends; its token may have ended before (`effectiveExpiry`). */
  expires_at: number;
  expiry_notified: boolean;
  /** The other id that its sender must have (link-ids.ts, `aliasKey`); null: none has come yet. */
  alias: string | null;
}

/**
 * The link of a channel's user, under any writing of the id, else as the other id of somebody linked; null where
 * there is none, or no key opens it, which is warned of.
 */
export async function findLink(
  services: Lookup,
  channel: LinkedChannel,
  user_id: string,
): Promise<FoundLink | null> {
  for (const key of linkKeys(channel, user_id)) {
    const link = await services.store.links.get(key);
    // The first one decides, also if it cannot be opened: that must not bring back a later one.
    if (link) return openLink(link, channel, services);
  }
  return findByAlias(services, channel, user_id);
}

/**
 * The link of who sent a message. Where the message brings another id of its sender, that is bound to the link, by
 * which the other id alone finds it from then on; `other_sender` if the link is bound to another one: then the user
 * id has changed hands since (agentd-message(7), "The inbox").
 */
export async function findSendersLink(
  services: Lookup,
  channel: LinkedChannel,
  { user_id, alias_id }: { user_id: string; alias_id?: string },
): Promise<FoundLink | 'other_sender' | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await findLink(services, channel, user_id);
    if (found === null || alias_id === undefined || alias_id === user_id) return found;
    const alias = aliasKey(channel.name, alias_id);
    if (found.alias !== null && found.alias !== alias) return 'other_sender';
    const { links } = services.store;
    if (found.alias === alias && (await links.findByAlias(alias))?.key === found.key) return found;
    if (await links.bindAlias(found.key, found.stored, { alias, person: found.person })) return found;
  }
  throw changing();
}

/** Who holds a link that another person would like to have. */
export interface LinkHolder {
  person: PersonKey;
  claims: Claims;
  /** When the link is nobody's any more. */
  expires_at: number;
}

export type LinkOutcome =
  | { linked: true; verdict: Extract<TokenVerdict, { valid: true }>; expires_at: number }
  | { linked: false; reason: TokenReason }
  /** Another person's link, not expired, that may not be taken over. */
  | { linked: false; reason: 'held_by_another'; holder: LinkHolder };

/**
 * Validates a token and stores it as the link of a channel's user, sealed, for 30 days: under the writing of the
 * id that links are kept under, and replaces those under any other id. The link of another person whose
 * token has not expired is replaced only where `mayReplace` agrees; deciding and replacing are one. Throws
 * `unavailable` where others keep writing the same link.
 */
export async function link(
  services: LinkServices,
  channel: LinkedChannel,
  user_id: string,
  token: string,
  mayReplace: (holder: LinkHolder, claims: Claims) => boolean = () => true,
): Promise<LinkOutcome> {
  const verdict = await services.tokens.validate(token);
  if (!verdict.valid) return { linked: false, reason: verdict.reason };
  const { person } = verdict;
  const { links } = services.store;
  const keys = linkKeys(channel, user_id);
  const [key] = keys;
  const sealed = services.seal.close(token, key);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const standing = await standingUnder(keys, services);
    const holder = standing
      .map((one) => holderOf(one, services))
      .find((one) => one !== null && one.person !== person && !mayReplace(one, verdict.claims));
    if (holder) return { linked: false, reason: 'held_by_another', holder };
    await withdrawActions(services, channel, user_id, person);
    const kept = standing.find((one) => one.key === key);
    const others = standing.filter((one) => one.key !== key);
    if (!(await links.put({ key, token: sealed, person, ttl_ms: LINK_TTL_MS }, kept?.token ?? null)))
      continue;
    const alias = others.find((one) => one.alias?.person === person)?.alias;
    if (!kept && alias) await links.bindAlias(key, sealed, alias);
    // From here on the one that is looked at first is the new one, so that a crash leaves no two people's.
    for (const other of others) await links.remove(other.key, other.token);
    services.log.info({ channel: channel.name, sub: verdict.user.user_id }, 'linked');
    const expires_at = Math.min(verdict.expires_at, services.clock.now() + LINK_TTL_MS);
    return { linked: true, verdict, expires_at };
  }
  throw changing();
}

/** Removes the link of a channel's user, to whichever person. True if there was one. */
export async function unlink(services: Lookup, channel: LinkedChannel, user_id: string): Promise<boolean> {
  const { links } = services.store;
  await withdrawActions(services, channel, user_id);
  let removed = false;
  // That which is looked at first goes last: an old one must not come to light meanwhile.
  for (const key of linkKeys(channel, user_id).toReversed()) {
    if (await links.remove(key)) removed = true;
  }
  for (let tries = 0; !removed && tries < MAX_TRIES; tries++) {
    const found = await findByAlias(services, channel, user_id);
    if (found === null) break;
    removed = await links.remove(found.key, found.stored);
  }
  if (removed) services.log.info({ channel: channel.name }, 'unlinked');
  return removed;
}

/** Removes the link of a channel's user if it is that of the token's person; another's stays. */
export async function unlinkPerson(
  services: LinkServices,
  channel: LinkedChannel,
  user_id: string,
  token: string,
): Promise<UnlinkAnswer> {
  const verdict = await services.tokens.validate(token);
  if (!verdict.valid) return { outcome: 'invalid', reason: verdict.reason };
  let removed = false;
  for (const key of linkKeys(channel, user_id).toReversed())
    if (await removeOwn(services, channel, { key, user_id, person: verdict.person })) removed = true;
  if (removed) services.log.info({ channel: channel.name, sub: verdict.user.user_id }, 'unlinked');
  return { outcome: removed ? 'removed' : 'none' };
}

/** Removes the link under a key if it is this person's; another's stays, also one that was made meanwhile. */
async function removeOwn(
  services: LinkServices,
  channel: LinkedChannel,
  { key, user_id, person }: { key: string; user_id: string; person: PersonKey },
): Promise<boolean> {
  const { links } = services.store;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const link = await links.get(key);
    if (link === null || openLink(link, channel, services)?.person !== person) return false;
    await withdrawActions(services, channel, user_id);
    if (await links.remove(key, link.token)) return true;
  }
  throw changing();
}

/** Notes that a person was told that the token of their link has expired. The token may be sealed anew meanwhile. */
export async function noteExpiryNotified(
  { store: { links }, seal }: Pick<LinkServices, 'store' | 'seal'>,
  found: FoundLink,
): Promise<void> {
  const link = await links.get(found.key);
  if (link !== null && seal.open(link.token, link.key) === found.token)
    await links.noteExpiryNotified(link.key, link.token);
}

/**
 * Withdraws what waits for a channel's user to confirm: who signs out, or in as somebody else, must not confirm it. Done
 * before the link changes, so that a crash in between leaves nothing to confirm.
 * @param keep the actions of this person stay.
 */
async function withdrawActions(
  { store }: Lookup,
  channel: LinkedChannel,
  user_id: string,
  keep?: PersonKey,
): Promise<void> {
  const ids = new Set([user_id, ...writingsOf(channel, user_id)]);
  for (const id of ids)
    await store.actions.withdraw({
      platform: channel.name,
      user_id: id,
      ...(keep === undefined ? {} : { keep }),
    });
}

/**
 * When a link is no longer any use: its own end or that of its token, whichever comes first
 * (agentd-identity(7), "Links").
 */
export function effectiveExpiry({ expires_at, token }: Pick<FoundLink, 'expires_at' | 'token'>): number {
  return Math.min(expires_at, claimsOfStoredToken(token).exp * 1000);
}

/** The link that this other id of its user leads to; none if it was bound for another person. */
async function findByAlias(
  services: Lookup,
  channel: LinkedChannel,
  alias_id: string,
): Promise<FoundLink | null> {
  const alias = aliasKey(channel.name, alias_id);
  const link = await services.store.links.findByAlias(alias);
  const found = link && openLink(link, channel, services);
  return found?.alias === alias ? found : null;
}

async function standingUnder(
  keys: readonly string[],
  { store }: Pick<LinkServices, 'store'>,
): Promise<Link[]> {
  const found = await Promise.all(keys.map((key) => store.links.get(key)));
  return found.filter((one) => one !== null);
}

/** Null if no key opens it; then a warning is logged. */
function openLink(link: Link, channel: LinkedChannel, { seal, log }: Lookup): FoundLink | null {
  const { key, expires_at, expiry_notified, alias } = link;
  const token = seal.open(link.token, key);
  if (token === null) {
    log.warn({ channel: channel.name }, 'linked token does not open with any encryption key');
    return null;
  }
  const person = personKey(claimsOfStoredToken(token));
  return {
    key,
    token,
    stored: link.token,
    person,
    expires_at,
    expiry_notified,
    alias: alias?.person === person ? alias.alias : null,
  };
}

/** Null if the link's token has expired, or cannot be read: it belongs to nobody then. */
function holderOf(standing: Link, { seal, clock }: LinkServices): LinkHolder | null {
  const token = seal.open(standing.token, standing.key);
  if (token === null) return null;
  const expires_at = effectiveExpiry({ ...standing, token });
  if (expires_at <= clock.now()) return null;
  const claims = claimsOfStoredToken(token);
  return { person: personKey(claims), claims, expires_at };
}

function changing(): AgentdError {
  return new AgentdError('unavailable', 'This link is being changed by others.', { retryAfter: 1 });
}
