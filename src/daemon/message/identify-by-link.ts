import type { Credential } from '../identity/identity.ts';
import { effectiveExpiry, type FoundLink, findSendersLink, noteExpiryNotified } from '../linking/links.ts';
import { credentialOf } from './identify-by-token.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Identified } from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'log' | 'tokens'>;

/**
 * Finds out who sent the message, by the link of the platform's user (agentd-identity(7), "The identity of a message").
 *
 * Checks the token of the sender's link. If the message has another id of the sender, binds that id to the link. Adds
 * `credential`. Never ends the turn: if the token is not valid, default credentials are used.
 */
export const identifyByLink: Step<Arrived, Identified> = {
  name: 'identify',
  async run(turn, services: Uses, line) {
    const link = await findSendersLink(services, turn.channel, turn.message);
    if (link === null) {
      line.reason = 'no_link';
      return { credential: { kind: 'none', reason: 'no_link' } };
    }
    const about = { request_id: turn.request_id, channel: turn.channel.name };
    if (link === 'other_sender') {
      line.verdict = 'fallback';
      line.reason = 'link_of_other_sender';
      services.log.warn(
        about,
        'the link of this user id was made by another sender; using default credentials',
      );
      return { credential: { kind: 'none', reason: 'link_of_other_sender' } };
    }
    const credential = credentialOf(await services.tokens.validate(link.token, turn.request_id), line);
    line.detail = { link: 'found', ...line.detail, link_expires: isoTime(link.expires_at) };
    if (credential.kind !== 'invalid') return { credential };
    const { reason } = credential;
    const isExpired = reason === 'Token Expired';
    services.log.warn(
      { ...about, reason: isExpired ? 'stored_token_expired' : reason },
      `linked token is not valid: ${reason}; using default credentials`,
    );
    if (reason === 'Signed Out') await services.store.links.remove(link.key, link.stored);
    if (!isExpired) return { credential };
    line.detail.expired = isoTime(effectiveExpiry(link));
    line.detail.person_notified = link.expiry_notified;
    return { credential: expired(turn, services, link) };
  },
};

/**
 * The credential of a link whose token has expired. The agent mentions the expiry once. If the run fails, the agent
 * mentions it in the next run.
 */
function expired(turn: Arrived, services: Uses, link: FoundLink): Credential {
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
