import { randomUUID } from 'node:crypto';
import type { UnlinkAnswer } from '../../channel/index.ts';
import {
  type Claims,
  type PersonKey,
  personKey,
  type TokenReason,
  type TokenVerdict,
} from '../identity/identity.ts';
import type { NewLinkNotice } from '../store/links/link-notices.ts';
import { type LinkHow, userOfKey } from '../store/links/links.ts';
import type { Store } from '../store/store.ts';
import {
  changing,
  findByAlias,
  type LinkHolder,
  type LinkServices,
  type Lookup,
  MAX_TRIES,
  openLink,
  type PersonsLink,
  readHolder,
  standingUnder,
} from './find-link.ts';
import { type LinkedChannel, linkKeys, listSpellings } from './link-ids.ts';

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
 * @param how `operator`: a notice for the user is stored with the removal
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
  return { id: randomUUID(), platform: name, user_id: userOfKey(key).user_id, what };
}
