import type { Presented, TokenVerdict } from '../identity/identity.ts';
import { effectiveExpiry, type FoundLink, findSendersLink } from '../identity/links.ts';
import type { Services } from '../services.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Identified } from './turn.ts';

/**
 * Who sent it, as far as a token says so (service.md "Accepting a user token").
 *
 * Checks the token in `metadata.jwt_token`, or on channels that answer later that of the sender's link: the
 * eight checks, once per message; where the rate limit has done them for this very token, its verdict stands.
 * Another id of the sender is bound to their link by the way (decisions §6).
 * Adds `presented`. Never ends the turn: a token that is no use means default credentials.
 */
export const identify: Step<Arrived, Identified> = {
  name: 'identify',
  async run(turn, services, line) {
    if (turn.channel.capabilities.reply === 'later') return identifyByLink(turn, services, line);
    const token = turn.message.metadata.jwt_token;
    if (token === null) {
      line.reason = 'signed_out';
      return { presented: { kind: 'signed-out' } };
    }
    if (token === undefined || token === '') {
      line.reason = 'no_token';
      return { presented: { kind: 'none', reason: 'no_token' } };
    }
    return { presented: presentedBy(await verdictOf(token, turn, services), line) };
  },
};

async function verdictOf(token: string, turn: Arrived, services: Services): Promise<TokenVerdict> {
  if (turn.validated?.token === token) return turn.validated.verdict;
  return services.tokens.validate(token, turn.request_id);
}

function presentedBy(verdict: TokenVerdict, line: StepLine): Presented {
  if (!verdict.valid) {
    line.verdict = 'fallback';
    line.reason = verdict.reason;
    return { kind: 'invalid', reason: verdict.reason };
  }
  line.reason = 'valid_token';
  line.detail = { sub: verdict.user.user_id, expires: isoTime(verdict.expires_at) };
  return { kind: 'person', verdict };
}

async function identifyByLink(turn: Arrived, services: Services, line: StepLine): Promise<Identified> {
  const link = await findSendersLink(services, turn.channel, turn.message);
  if (link === null) {
    line.reason = 'no_link';
    return { presented: { kind: 'none', reason: 'no_link' } };
  }
  if (link === 'other_sender') {
    line.verdict = 'fallback';
    line.reason = 'link_of_other_sender';
    services.log.warn(
      { request_id: turn.request_id, channel: turn.channel.name },
      'the link of this user id was made by another sender; default credentials',
    );
    return { presented: { kind: 'none', reason: 'link_of_other_sender' } };
  }
  const presented = presentedBy(await services.tokens.validate(link.token, turn.request_id), line);
  line.detail = { link: 'found', ...line.detail, link_expires: isoTime(link.expires_at) };
  if (presented.kind !== 'invalid') return { presented };
  services.log.warn(
    { request_id: turn.request_id, channel: turn.channel.name, reason: presented.reason },
    `linked token is no use: ${presented.reason}; default credentials`,
  );
  if (presented.reason !== 'Token Expired') return { presented };
  line.detail.expired = isoTime(effectiveExpiry(link));
  line.detail.person_told = link.lapse_told;
  return { presented: lapsed(turn, services, link) };
}

/** The agent tells of a lapse once; one that it did not come to tell of is still to be told. */
function lapsed(turn: Arrived, services: Services, link: FoundLink): Presented {
  if (!link.lapse_told) {
    turn.onEnd(async (failed) => {
      if (!failed) await services.store.links.noteLapseTold(link.key, link.stored);
    });
  }
  return { kind: 'invalid', reason: 'Token Expired', lapse_told: link.lapse_told };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
