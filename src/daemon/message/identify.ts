import type { House } from '../house.ts';
import type { Presented, TokenVerdict } from '../identity/identity.ts';
import { type FoundLink, findLink } from '../identity/links.ts';
import type { Step } from './sequence.ts';
import type { StepLine } from './trace.ts';
import type { Arrived, Identified } from './turn.ts';

/**
 * Who sent it, as far as a token says so (service.md "Accepting a user token").
 *
 * Checks the token in `metadata.jwt_token`, or on channels that answer later that of the sender's link: the
 * eight checks, once per message; where the rate limit has done them for this very token, its verdict stands.
 * Adds `presented`. Never ends the turn: a token that is no use means default credentials.
 */
export const identify: Step<Arrived, Identified> = {
  name: 'identify',
  async run(turn, house, line) {
    if (turn.channel.capabilities.reply === 'later') return identifyByLink(turn, house, line);
    const token = turn.message.metadata.jwt_token;
    if (token === null) {
      line.reason = 'signed_out';
      return { presented: { kind: 'signed-out' } };
    }
    if (token === undefined || token === '') {
      line.reason = 'no_token';
      return { presented: { kind: 'none' } };
    }
    return { presented: presentedBy(await verdictOf(token, turn, house), line) };
  },
};

async function verdictOf(token: string, turn: Arrived, house: House): Promise<TokenVerdict> {
  if (turn.validated?.token === token) return turn.validated.verdict;
  return house.tokens.validate(token, turn.request_id);
}

function presentedBy(verdict: TokenVerdict, line: StepLine): Presented {
  if (!verdict.valid) {
    line.verdict = 'fallback';
    line.reason = verdict.reason;
    return { kind: 'invalid', reason: verdict.reason };
  }
  line.reason = 'valid_token';
  line.detail = { sub: verdict.user.user_id, expires: new Date(verdict.expires_at).toISOString() };
  return { kind: 'person', verdict };
}

async function identifyByLink(turn: Arrived, house: House, line: StepLine): Promise<Identified> {
  const link = await findLink(house, turn.message.platform, turn.message.user_id);
  if (link === null) {
    line.reason = 'no_token';
    line.detail = { link: 'none' };
    return { presented: { kind: 'none' } };
  }
  const presented = presentedBy(await house.tokens.validate(link.token), line);
  line.detail = { ...line.detail, link_expires: new Date(link.expires_at).toISOString() };
  if (presented.kind !== 'invalid') return { presented };
  house.log.warn(
    { request_id: turn.request_id, channel: turn.channel.name, reason: presented.reason },
    `linked token is no use: ${presented.reason}; default credentials`,
  );
  return { presented: presented.reason === 'Token Expired' ? lapsed(turn, house, link) : presented };
}

/** The agent tells of a lapse once; one that it did not come to tell of is still to be told. */
function lapsed(turn: Arrived, house: House, link: FoundLink): Presented {
  if (!link.lapse_told) {
    turn.onEnd(async (failed) => {
      if (!failed) await house.store.links.noteLapseTold(link.key, link.stored);
    });
  }
  return { kind: 'invalid', reason: 'Token Expired', lapse_told: link.lapse_told };
}
