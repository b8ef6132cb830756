import { decodeToken } from './decode-token.ts';
import type { Claims } from './identity.ts';

/**
 * What a stored token says about its person, for the agent (agentd-message(7), "What the agent is told"). The token is
 * not validated again: it was validated when it was stored, and a message validates a token only once
 * (agentd-identity(7), "Description"). Never throws: a stored text that is not a token has no claims.
 *
 * @param token unsealed.
 */
export function claimsOfStoredToken(token: string): Claims {
  return decodeToken(token).claims ?? { sub: '', email: '', exp: 0 };
}
