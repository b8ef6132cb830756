import { plainValue } from '../../channel/plain-value.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { Claims, TokenVerdict } from '../identity/identity.ts';
import type { Claimant, LinkCode } from '../store/links/link-codes.ts';
import { toTokenLife } from '../store/links/link-renewals.ts';
import type { Store } from '../store/store.ts';
import {
  changing,
  type LinkHolder,
  type LinkServices,
  listLinksUnder,
  MAX_TRIES,
  readHolder,
  standingTokens,
} from './find-link.ts';
import { aliasKey, codeRecord, type LinkedChannel, linkKeys } from './link-ids.ts';
import { LINK_TTL_MS } from './links.ts';

type BindServices = Omit<LinkServices, 'store'> & {
  store: Pick<Store, 'links' | 'linkCodes' | 'signOutMarks'>;
};

/** What became of a code to which somebody has agreed. */
export type Bound =
  /** One end has not agreed yet. */
  | { outcome: 'waiting' }
  | { outcome: 'bound'; code: LinkCode; claims: Claims; expires_at: number }
  /** The code is no longer open. */
  | { outcome: 'gone'; code: LinkCode | null }
  /** The link may not be made, and the code has ended. */
  | { outcome: 'refused'; reason: BindRefusal; claimant: Claimant };

type BindRefusal =
  /** A token of the code is no longer valid. */
  | 'invalid_token'
  /** The token belongs to a person with another phone number. */
  | 'other_number'
  /** The number is linked to another person. */
  | 'held_by_another';

type Valid = Extract<TokenVerdict, { valid: true }>;

/**
 * Links the sender who has claimed a code to the person who made it, if both have agreed. Both tokens are validated
 * again, and the rules of links are checked again, in the same step in which the link is made. The token that was issued
 * later is stored.
 * @throws `unavailable` if others keep changing the same link
 */
export async function bindCode(
  services: BindServices,
  channel: LinkedChannel,
  code_id: string,
): Promise<Bound> {
  const { seal, store } = services;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const code = await store.linkCodes.find(code_id);
    if (code?.state !== 'claimed' || code.claimant === null || code.token === null)
      return { outcome: 'gone', code };
    if (!code.sender_agreed || code.confirmed_token === null) return { outcome: 'waiting' };
    const { claimant, person, token, confirmed_token } = code;
    const refused = async (reason: BindRefusal): Promise<Bound> => {
      await store.linkCodes.end(code_id, person);
      services.log.info({ channel: channel.name, reason }, 'link code refused');
      return { outcome: 'refused', reason, claimant };
    };
    const tokens = [token, confirmed_token].map((stored) => seal.open(stored, codeRecord(code_id)));
    const verdicts = await Promise.all(
      tokens.map((one) => (one === null ? null : services.tokens.validate(one))),
    );
    const valid = verdicts.filter((verdict): verdict is Valid => verdict?.valid === true);
    if (valid.length < tokens.length || valid.some((verdict) => verdict.person !== person))
      return refused('invalid_token');
    const newest = newer(valid as [Valid, Valid]);
    const raw = newest.user.token.reveal();
    const keys = linkKeys(channel, claimant.user_id);
    const standing = await listLinksUnder(keys, services);
    const reason = findRefusal(
      channel,
      claimant.user_id,
      valid,
      newest,
      standing.map((one) => readHolder(one, services)),
    );
    if (reason !== null) return refused(reason);
    const [key] = keys;
    const { user_id, alias_id } = claimant;
    const alias =
      alias_id === null || alias_id === user_id
        ? standing.find((one) => one.alias?.person === person)?.alias?.alias
        : aliasKey(channel.name, alias_id);
    const bound = await store.linkCodes.bind({
      code_id,
      seen: { token, confirmed_token },
      link: {
        key,
        token: seal.close(raw, key),
        person,
        ttl_ms: LINK_TTL_MS,
        how: 'code',
        name: claimant.name,
        origin: newest.claims,
        // Not the alias as it stands: the code proves that the user id is the person's, even if it was reassigned.
        ...(alias === undefined ? {} : { alias: { alias, person } }),
      },
      life: toTokenLife(newest.claims),
      standing: standingTokens(keys, standing),
    });
    if (bound !== 'bound') continue;
    services.log.info({ channel: channel.name, sub: newest.user.user_id }, 'linked with a code');
    const expires_at = Math.min(newest.expires_at, services.clock.now() + LINK_TTL_MS);
    return { outcome: 'bound', code: { ...code, state: 'used' }, claims: newest.claims, expires_at };
  }
  throw changing();
}

/**
 * Ends a code that its claimant may not use: the token with which it was made is no longer valid, or a rule of links
 * forbids it. Called when the code is claimed, so that nobody is asked in vain; `bindCode` checks everything again.
 * @returns why, or null if the code stays open
 */
export async function refuseClaim(
  services: BindServices,
  channel: LinkedChannel,
  { code_id, claimant, token, person }: LinkCode,
): Promise<BindRefusal | null> {
  const opened = token === null ? null : services.seal.open(token, codeRecord(code_id));
  const verdict = opened === null ? null : await services.tokens.validate(opened);
  const isValid = verdict?.valid === true && verdict.person === person;
  const reason = isValid
    ? findRefusal(
        channel,
        claimant?.user_id ?? '',
        [verdict],
        verdict,
        await findHolders(services, channel, claimant),
      )
    : 'invalid_token';
  if (reason !== null) await services.store.linkCodes.end(code_id, person);
  return reason;
}

async function findHolders(
  services: BindServices,
  channel: LinkedChannel,
  claimant: Claimant | null,
): Promise<(LinkHolder | null)[]> {
  if (claimant === null) return [];
  const standing = await listLinksUnder(linkKeys(channel, claimant.user_id), services);
  return standing.map((one) => readHolder(one, services));
}

/** The token that was issued later; or else the one that expires later. */
function newer([first, second]: readonly [Valid, Valid]): Valid {
  const [one, other] = [first, second].map(({ claims }) => claims.iat ?? 0) as [number, number];
  if (one !== other) return one > other ? first : second;
  return first.expires_at > second.expires_at ? first : second;
}

/** Why a user may not be linked, by the rules for phone numbers (agentd-identity(7), "Links"); null if the user may. */
function findRefusal(
  { linking }: LinkedChannel,
  user_id: string,
  tokens: readonly Valid[],
  newest: Valid,
  holders: readonly (LinkHolder | null)[],
): BindRefusal | null {
  if (linking?.comparePhone === undefined) return null;
  const compared = (token: Valid) => comparedPhone(linking, user_id, token.claims);
  if (tokens.some((token) => compared(token) === 'other')) return 'other_number';
  const isHeld = holders.some((holder) => holder !== null && holder.person !== newest.person);
  return isHeld && compared(newest) !== 'same' ? 'held_by_another' : null;
}

/** How the `phone` claim of a token compares with a user's id. */
function comparedPhone(
  linking: NonNullable<LinkedChannel['linking']>,
  user_id: string,
  { phone }: Claims,
): 'same' | 'other' | 'unknown' {
  const claim = phone?.trim() ?? '';
  if (claim === '') return 'unknown';
  return plainValue(linking.comparePhone?.(user_id, claim) ?? 'unknown', 'linking.comparePhone');
}

/** The claims of the token with which a code was made; null if the code has ended. */
export function claimsOfCode(
  { code_id, token }: LinkCode,
  { seal }: Pick<LinkServices, 'seal'>,
): Claims | null {
  const opened = token === null ? null : seal.open(token, codeRecord(code_id));
  return opened === null ? null : claimsOfStoredToken(opened);
}
