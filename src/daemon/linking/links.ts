import { createHash } from 'node:crypto';
import type { UnlinkAnswer } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import {
  type Claims,
  type PersonKey,
  personKey,
  type TokenReason,
  type TokenValidator,
  type TokenVerdict,
} from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import type { NewLinkNotice } from '../store/link-notices.ts';
import { type Link, type LinkHow, userOfKey } from '../store/links.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { aliasKey, type LinkedChannel, linkKeys, listSpellings } from './link-ids.ts';

/** Lifetime of a link (agentd-identity(7), "Links"): 30 days. */
export const LINK_TTL_MS = 2_592_000 * 1000;

/** Maximum number of attempts to change a link if others write it at the same time. */
export const MAX_TRIES = 5;

export interface LinkServices {
  store: Pick<Store, 'links' | 'actions' | 'signOutMarks'>;
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
  /** The person of the token, which was validated when it was stored. */
  person: PersonKey;
  /** When the link ends. Its token may expire earlier (`effectiveExpiry`). */
  expires_at: number;
  expiry_notified: boolean;
  how: LinkHow;
  /** The other id that its sender must have (link-ids.ts, `aliasKey`). Null if no message has contained one yet. */
  alias: string | null;
}

/**
 * The link of a channel's user, found by any spelling of the id, or by the other id of a linked user. Null if there is
 * none, or if no key opens it; a link that no key opens is logged as a warning.
 */
export async function findLink(
  services: Lookup,
  channel: LinkedChannel,
  user_id: string,
): Promise<FoundLink | null> {
  const [keys, alias] = [linkKeys(channel, user_id), aliasKey(channel.name, user_id)];
  // The first link that is found decides, even if it cannot be opened: an older link must not take effect instead.
  const link = await services.store.links.find(keys, alias);
  const found = link && openLink(link, channel, services);
  return found === null || keys.includes(found.key) || found.alias === alias ? found : null;
}

/**
 * The link of the sender of a message. If the message has another id of its sender, that id is bound to the link, so
 * that later messages find the link by that id alone. `other_sender` if the link is bound to a different id: the
 * platform has since given the user id to somebody else (agentd-message(7), "The inbox").
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

/** The current holder of a link that another person asks for. */
export interface LinkHolder {
  person: PersonKey;
  claims: Claims;
  /** When the link stops belonging to the holder. */
  expires_at: number;
}

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
  mayReplace: (holder: LinkHolder, claims: Claims) => boolean = () => true,
  how: LinkHow = 'token',
): Promise<LinkOutcome> {
  const verdict = await services.tokens.validate(token);
  if (!verdict.valid) return { linked: false, reason: verdict.reason };
  const { person } = verdict;
  const { links } = services.store;
  const keys = linkKeys(channel, user_id);
  const [key] = keys;
  const sealed = services.seal.close(token, key);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await services.store.signOutMarks.covers(verdict.claims))
      return { linked: false, reason: 'Signed Out' };
    const standing = await standingUnder(keys, services);
    const holders = standing.map((one) => readHolder(one, services));
    const strangers = holders.filter((one) => one !== null && one.person !== person);
    const holder = strangers.find((one) => one !== null && !mayReplace(one, verdict.claims));
    if (holder) return { linked: false, reason: 'held_by_another', holder };
    await withdrawActions(services, channel, user_id, person);
    const kept = standing.find((one) => one.key === key);
    const others = standing.filter((one) => one.key !== key);
    const [replaced = null] = strangers;
    const made = { key, token: sealed, person, origin: verdict.claims, how, ttl_ms: LINK_TTL_MS };
    const told =
      how === 'operator' && replaced !== null ? { notice: noticeFor(channel, key, 'replaced') } : {};
    if (!(await links.put({ ...made, ...told }, kept?.token ?? null))) continue;
    const alias = others.find((one) => one.alias?.person === person)?.alias;
    if (!kept && alias) await links.bindAlias(key, sealed, alias);
    // From here on, lookups find the new link first, so a crash cannot leave links of two people in effect.
    for (const other of others) await links.remove(other.key, other.token);
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
export async function unlink(
  services: Lookup & { store: Pick<Store, 'waitingQuestions'> },
  channel: LinkedChannel,
  user_id: string,
): Promise<boolean> {
  await withdrawActions(services, channel, user_id);
  await services.store.waitingQuestions.end(linkKeys(channel, user_id));
  return removeLink(services, channel, user_id);
}

/**
 * Removes the link of a channel's user without signing the user out: pending actions stay, and are answered after the
 * next sign-in of the same person. True if there was a link.
 * @param how `operator`: a notice for the user is stored with the removal (`LinkNoticeStore`)
 */
export async function removeLink(
  services: Lookup,
  channel: LinkedChannel,
  user_id: string,
  how: 'user' | 'operator' = 'user',
): Promise<boolean> {
  const { links } = services.store;
  const keys = linkKeys(channel, user_id);
  const notice = (key: string) => (how === 'operator' ? noticeFor(channel, key, 'ended') : undefined);
  const [effective] = await standingUnder(keys, services);
  let removed = false;
  // The link that lookups find first is removed last, so that no older link takes effect in between.
  for (const key of keys.toReversed()) {
    if (await links.remove(key, undefined, key === effective?.key ? notice(key) : undefined)) removed = true;
  }
  for (let tries = 0; !removed && tries < MAX_TRIES; tries++) {
    const found = await findByAlias(services, channel, user_id);
    if (found === null) break;
    removed = await links.remove(found.key, found.stored, notice(found.key));
  }
  if (removed) services.log.info({ channel: channel.name }, 'unlinked');
  return removed;
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
  let removed = false;
  for (const key of linkKeys(channel, user_id).toReversed())
    if (await removeOwn(services, channel, { key, user_id, person: verdict.person })) removed = true;
  if (removed) services.log.info({ channel: channel.name, sub: verdict.user.user_id }, 'unlinked');
  return { outcome: removed ? 'removed' : 'none' };
}

/**
 * Removes the link under a key if it belongs to this person. The link of another person is kept, even if it replaced
 * this person's link just now.
 */
async function removeOwn(
  services: Lookup,
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

/** A link of a person, as the person sees it. */
export interface PersonsLink {
  /** Not the key, which contains the user's id. */
  id: string;
  platform: string;
  user_id: string;
  name: string | null;
  made_at: number | null;
  /** When the link becomes useless (`effectiveExpiry`). */
  expires_at: number;
  claims: Claims;
  key: string;
}

/** The links of a person, oldest first. A link whose token belongs to somebody else is left out. */
export async function listLinks(services: Lookup, person: PersonKey): Promise<PersonsLink[]> {
  const links = await services.store.links.ofPerson(person);
  return links.flatMap((link): PersonsLink[] => {
    const { platform, user_id } = userOfKey(link.key);
    const found = openLink(link, { name: platform }, services);
    if (found?.person !== person) return [];
    const { key, token } = found;
    const id = createHash('sha256')
      .update(JSON.stringify([person, key]))
      .digest('base64url')
      .slice(0, 22);
    const claims = claimsOfStoredToken(token);
    return [
      {
        ...{ id, platform, user_id, key, claims, name: link.name, made_at: link.made_at },
        expires_at: effectiveExpiry(found),
      },
    ];
  });
}

/** Removes a link that was found, also if its token was renewed since. True if it was removed. */
export async function removeFound(
  services: Lookup,
  channel: LinkedChannel,
  { user_id, key, claims }: PersonsLink,
): Promise<boolean> {
  const removed = await removeOwn(services, channel, { key, user_id, person: personKey(claims) });
  if (removed) services.log.info({ channel: channel.name, sub: claims.sub }, 'unlinked');
  return removed;
}

/**
 * Records that a person was notified that the token of their link has expired. Also works if the token was resealed
 * after it was read.
 */
export async function noteExpiryNotified(
  { store: { links }, seal }: Pick<LinkServices, 'store' | 'seal'>,
  found: FoundLink,
): Promise<void> {
  const link = await links.get(found.key);
  if (link !== null && seal.open(link.token, link.key) === found.token)
    await links.noteExpiryNotified(link.key, link.token);
}

/**
 * Withdraws the actions that a channel's user has not confirmed yet: a user who signs out, or signs in as somebody
 * else, must not confirm them. Done before the link changes, so that a crash in between leaves nothing to confirm.
 * @param keep the person whose actions are kept.
 */
export async function withdrawActions(
  { store }: Pick<Lookup, 'store'>,
  channel: LinkedChannel,
  user_id: string,
  keep?: PersonKey,
): Promise<void> {
  const ids = new Set([user_id, ...listSpellings(channel, user_id)]);
  for (const id of ids)
    await store.actions.withdraw({
      platform: channel.name,
      user_id: id,
      ...(keep === undefined ? {} : { keep }),
    });
}

function noticeFor({ name }: LinkedChannel, key: string, what: NewLinkNotice['what']): NewLinkNotice {
  return { platform: name, user_id: userOfKey(key).user_id, what };
}

/**
 * When a link becomes useless: when the link or its token expires, whichever is earlier (agentd-identity(7), "Links").
 */
export function effectiveExpiry({ expires_at, token }: Pick<FoundLink, 'expires_at' | 'token'>): number {
  return Math.min(expires_at, claimsOfStoredToken(token).exp * 1000);
}

/** The link that is bound to another id of its user. Null if that id was bound for a different person. */
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

export async function standingUnder(
  keys: readonly string[],
  { store }: Pick<LinkServices, 'store'>,
): Promise<Link[]> {
  const found = await Promise.all(keys.map((key) => store.links.get(key)));
  return found.filter((one) => one !== null);
}

/** The link with its token unsealed. Null, with a warning in the log, if no key opens the token. */
function openLink(link: Link, channel: LinkedChannel, { seal, log }: Lookup): FoundLink | null {
  const { key, expires_at, expiry_notified, how, alias } = link;
  const token = seal.open(link.token, key);
  if (token === null) {
    log.warn({ channel: channel.name }, 'no encryption key can unseal the linked token');
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
    how,
    alias: alias?.person === person ? alias.alias : null,
  };
}

/** The holder of a link. Null if the link's token has expired or cannot be read: then the link belongs to nobody. */
export function readHolder(
  standing: Link,
  { seal, clock }: Pick<LinkServices, 'seal' | 'clock'>,
): LinkHolder | null {
  const token = seal.open(standing.token, standing.key);
  if (token === null) return null;
  const expires_at = effectiveExpiry({ ...standing, token });
  if (expires_at <= clock.now()) return null;
  const claims = claimsOfStoredToken(token);
  return { person: personKey(claims), claims, expires_at };
}

export function changing(): AgentdError {
  return new AgentdError('unavailable', 'Other requests are changing this link.', { retryAfter: 1 });
}
