import { decodeToken } from './decode-token.ts';
import type { Claims } from './identity.ts';

/**
 * What a stored token says of its person, for the agent to be told (agentd-message(7), "What the agent is told"). Not
 * validated: it was when it was stored, and is once per message only (agentd-identity(7), "Description"). Never throws;
 * a stored text that is no token says nothing of anyone.
 *
 * @param token unsealed.
 */
export function claimsOfStoredToken(token: string): Claims {
  return decodeToken(token).claims ?? { sub: '', email: '', exp: 0 };
}
