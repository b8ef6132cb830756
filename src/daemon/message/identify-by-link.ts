import type { Credential, TokenVerdict } from '../identity/identity.ts';
import {
  effectiveExpiry,
  type FoundLink,
  findSendersLink,
  noteExpiryNotified,
} from '../linking/find-link.ts';
import type { RenewalOutcome } from '../renewal/link-renewer.ts';
import { toCredential } from './identify-by-token.ts';
import type { Step } from './sequence.ts';
import { forRequest, type Services } from './services.ts';
import type { Arrived, Identified } from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'log' | 'tokens' | 'renewer'>;

/**
 * Finds out who sent the message, by the link of the platform's user (agentd-identity(7), "The identity of a message").
 *
 * Checks the token of the sender's link, and lets it be renewed if that is due. If the message has another id of the
 * sender, binds that id to the link. Adds `credential`. Never ends the turn: if the token is not valid, default
 * credentials are used.
 */
export const identifyByLink: Step<Arrived, Identified> = {
  name: 'identify',
  async run(turn, services: Uses, line) {
    const own = forRequest(services, turn.request_id);
    const found = await findLinkAndRenew(turn, own);
    const about = { channel: turn.channel.name };
    if (!('verdict' in found)) {
      const reason = found.link === null ? 'no_link' : 'link_of_other_sender';
      line.reason = reason;
      if (found.renewal === 'ended') line.detail = { renewal: found.renewal };
      if (reason === 'link_of_other_sender') {
        line.verdict = 'fallback';
        own.log.warn(about, 'the link of this user id was made by another sender; using default credentials');
      }
      return { credential: { kind: 'none', reason } };
    }
    const { link, verdict, renewal } = found;
    const credential = toCredential(verdict, line);
    line.detail = {
      link: 'found',
      ...line.detail,
      link_expires: isoTime(link.expires_at),
      ...(renewal === 'kept' ? {} : { renewal }),
    };
    if (credential.kind !== 'invalid') return { credential };
    const { reason } = credential;
    const isExpired = reason === 'Token Expired';
    own.log.warn(
      { ...about, reason: isExpired ? 'stored_token_expired' : reason },
      `linked token is not valid: ${reason}; using default credentials`,
    );
    if (reason === 'Signed Out') await services.store.links.remove(new Map([[link.key, link.stored]]));
    if (!isExpired) return { credential };
    line.detail.expired = isoTime(effectiveExpiry(link));
    line.detail.person_notified = link.expiry_notified;
    return { credential: toExpired(turn, services, link) };
  },
};

interface Renewed<Link> {
  link: Link;
  renewal: RenewalOutcome;
}

type Found = Renewed<'other_sender' | null> | (Renewed<FoundLink> & { verdict: TokenVerdict });

/** The sender's link, and the verdict about its token: about the new one if it was renewed. */
async function findLinkAndRenew({ channel, message }: Arrived, services: Uses): Promise<Found> {
  const find = async (renewal: RenewalOutcome): Promise<Found> => {
    const link = await findSendersLink(services, channel, message);
    if (link === null || link === 'other_sender') return { link, renewal };
    return { link, renewal, verdict: await services.tokens.validate(link.token) };
  };
  const found = await find('kept');
  if (services.renewer === null || !('verdict' in found) || !found.verdict.valid) return found;
  if (found.link.how !== 'code') return found;
  const { key, stored } = found.link;
  const renewal = await services.renewer.met(found.link);
  // The request for a new token takes seconds, in which the link may have been removed.
  const isSame = renewal === 'kept' && (await services.store.links.get(key))?.token === stored;
  return isSame ? found : find(renewal);
}

/**
 * The credential of a link whose token has expired. The agent mentions the expiry once. If the run fails, the agent
 * mentions it in the next run.
 */
function toExpired(turn: Arrived, services: Uses, link: FoundLink): Credential {
  if (!link.expiry_notified) {
    turn.defer(async (failed) => {
      if (!failed) await noteExpiryNotified(services, link);
    });
  }
  return { kind: 'expired', expiry_notified: link.expiry_notified };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
