import type { House } from '../house.ts';
import type { TokenVerdict } from '../identity/identity.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Identified } from './turn.ts';

/**
 * Who sent it, as far as a token says so (service.md "Accepting a user token").
 *
 * Checks the token in `metadata.jwt_token`: the eight checks, once per message; where the rate limit has
 * done them for this very token, its verdict stands.
 * Adds `presented`. Never ends the turn: a token that is no use means default credentials.
 */
export const identify: Step<Arrived, Identified> = {
  name: 'identify',
  async run(turn, house, line) {
    const token = turn.message.metadata.jwt_token;
    if (token === null) {
      line.reason = 'signed_out';
      return { presented: { kind: 'signed-out' } };
    }
    if (token === undefined || token === '') {
      line.reason = 'no_token';
      return { presented: { kind: 'none' } };
    }
    const verdict = await verdictOf(token, turn, house);
    if (!verdict.valid) {
      line.verdict = 'fallback';
      line.reason = verdict.reason;
      return { presented: { kind: 'invalid', reason: verdict.reason } };
    }
    line.reason = 'valid_token';
    line.detail = { sub: verdict.user.user_id, expires: new Date(verdict.expires_at).toISOString() };
    return { presented: { kind: 'person', verdict } };
  },
};

async function verdictOf(token: string, turn: Arrived, house: House): Promise<TokenVerdict> {
  if (turn.validated?.token === token) return turn.validated.verdict;
  return house.tokens.validate(token, turn.request_id);
}
