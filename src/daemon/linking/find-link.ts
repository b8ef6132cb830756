import { hash } from 'node:crypto';
import { AgentdError, StoreUnavailable } from '../errors.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import { type Claims, type PersonKey, personKey, type TokenValidator } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import { type Link, type LinkHow, type StandingTokens, userOfKey } from '../store/links/links.ts';
import type { Store } from '../store/store.ts';
import type { LocalTexts, Texts } from '../texts/texts.ts';
import type { Clock } from '../time/clock.ts';
import { aliasKey, type LinkedChannel, linkKeys } from './link-ids.ts';

/** Maximum number of attempts to change a link if others write it at the same time. */
export const MAX_TRIES = 5;

export interface LinkServices {
  store: Pick<Store, 'links' | 'signOutMarks'>;
  seal: Seal;
  tokens: TokenValidator;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn'>;
}
export type Lookup = Pick<LinkServices, 'store' | 'seal' | 'log'>;

/** The ids with which a platform names the sender of a message. */
interface Sender {
  user_id: string;
  alias_id?: string;
}

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
  /** Whether the platform has given the user id to somebody else since, so that the user id alone proves nothing. */
  is_reassigned: boolean;
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
  sender: Sender,
): Promise<FoundLink | 'other_sender' | null> {
  const { user_id, alias_id } = sender;
  const { links } = services.store;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await findLink(services, channel, user_id);
    if (found === null) return null;
    if (!isSenders(found, channel, sender)) {
      if (!found.is_reassigned) await links.noteReassigned(found.key, found.stored);
      return 'other_sender';
    }
    if (alias_id === undefined || alias_id === user_id) return found;
    const alias = aliasKey(channel.name, alias_id);
    if (found.alias === alias && (await links.findByAlias(alias))?.key === found.key) return found;
    if (await links.bindAlias(found.key, found.stored, { alias, person: found.person })) return found;
  }
  throw changing();
}

/** False if the platform has given the user id to somebody else since the link was made. */
function isSenders(
  { alias, is_reassigned }: FoundLink,
  { name }: LinkedChannel,
  { user_id, alias_id = user_id }: Sender,
): boolean {
  if (alias === null || alias === aliasKey(name, alias_id)) return true;
  return alias_id === user_id && !is_reassigned;
}

/** The current holder of a link that another person asks for. */
export interface LinkHolder {
  person: PersonKey;
  claims: Claims;
  /** When the link stops belonging to the holder. */
  expires_at: number;
}

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
    const id = hash('sha256', JSON.stringify([person, key]), 'base64url').slice(0, 22);
    const claims = claimsOfStoredToken(token);
    return [
      {
        id,
        platform,
        user_id,
        key,
        claims,
        name: link.name,
        made_at: link.made_at,
        expires_at: effectiveExpiry(found),
      },
    ];
  });
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
 * When a link becomes useless: when the link or its token expires, whichever is earlier (agentd-identity(7), "Links").
 */
export function effectiveExpiry({ expires_at, token }: Pick<FoundLink, 'expires_at' | 'token'>): number {
  return Math.min(expires_at, claimsOfStoredToken(token).exp * 1000);
}

/** The link that is bound to another id of its user. Null if that id was bound for a different person. */
export async function findByAlias(
  services: Lookup,
  channel: LinkedChannel,
  alias_id: string,
): Promise<FoundLink | null> {
  const alias = aliasKey(channel.name, alias_id);
  const link = await services.store.links.findByAlias(alias);
  const found = link && openLink(link, channel, services);
  return found?.alias === alias ? found : null;
}

export async function listLinksUnder(
  keys: readonly string[],
  { store }: Pick<LinkServices, 'store'>,
): Promise<Link[]> {
  const found = await Promise.all(keys.map((key) => store.links.get(key)));
  return found.filter((one) => one !== null);
}

/** The stored token under each of these keys. @param standing the links under them */
export function standingTokens(keys: readonly string[], standing: readonly Link[]): StandingTokens {
  return new Map(keys.map((key) => [key, standing.find((link) => link.key === key)?.token ?? null]));
}

/** The link with its token unsealed. Null, with a warning in the log, if no key opens the token. */
export function openLink(link: Link, channel: LinkedChannel, { seal, log }: Lookup): FoundLink | null {
  const { key, expires_at, expiry_notified, how, alias } = link;
  const token = seal.open(link.token, key);
  if (token === null) {
    log.warn({ channel: channel.name }, 'no encryption key can unseal the linked token');
    return null;
  }
  const person = personKey(claimsOfStoredToken(token));
  const own = alias?.person === person ? alias : null;
  return {
    key,
    token,
    stored: link.token,
    person,
    expires_at,
    expiry_notified,
    how,
    alias: own?.alias ?? null,
    is_reassigned: own?.reassigned === true,
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

/** The parts of a platform's message that tell who sent it, and in which language. */
interface Sent extends Sender {
  locale?: string;
}

type Parts = Pick<LinkServices, 'store' | 'seal' | 'clock' | 'log'> & { texts: Texts };

/**
 * The daemon's texts for the sender of a platform's message that no turn answers: in the language of the token in their
 * link, or else in the language that the platform reports.
 */
export async function findSendersTexts(
  services: Parts,
  channel: LinkedChannel,
  sent: Sent,
): Promise<LocalTexts> {
  const { texts } = services;
  // Without translations, the language makes no difference, and the link need not be read.
  const claims = texts.areTranslated ? await linkedClaims(services, channel, sent) : null;
  return texts.in(claims?.locale, sent.locale);
}

/** As `findSendersTexts`, with the time zone of the token in the link; null if it is not known. */
export async function findSendersReading(
  services: Parts,
  channel: LinkedChannel,
  sent: Sent,
): Promise<{ texts: LocalTexts; timezone: string | null }> {
  const claims = await linkedClaims(services, channel, sent);
  return { texts: services.texts.in(claims?.locale, sent.locale), timezone: claims?.timezone ?? null };
}

/** Null if there is no link of this sender with a token that has not expired, or if the store cannot be reached. */
async function linkedClaims(services: Parts, channel: LinkedChannel, sent: Sent) {
  const found = await findLink(services, channel, sent.user_id).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return null;
    throw error;
  });
  if (found === null || effectiveExpiry(found) <= services.clock.now()) return null;
  return isSenders(found, channel, sent) ? claimsOfStoredToken(found.token) : null;
}
