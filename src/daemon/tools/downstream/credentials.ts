import type { RequestContext } from '../../agent/context.ts';
import { decodePayload, type UntrustedObject } from '../../identity/decode-token.ts';
import type { Claims, NobodyReason } from '../../identity/identity.ts';
import type { Seal } from '../../identity/seal.ts';
import type { Log } from '../../process/log.ts';
import { type ExpirySettings, hasExpired, storedToken } from '../../session/jwt-context.ts';
import type { JwtContext, Session } from '../../session/session.ts';
import { Secret } from '../../settings/secret.ts';
import type { Clock } from '../../time/clock.ts';

/** Whose credentials the calls of a tool carry (agentd-agent(7), "Credentials"). */
export type CredentialPolicy = 'user-or-default' | 'user' | 'default' | 'none' | 'exchange';

/** All claims of a person's token, unchanged; `sub` and `email` were validated. */
export type PersonClaims = Pick<Claims, 'sub' | 'email'> & UntrustedObject;

/** The token of the person for whom a message acts, or why there is no usable token. */
export type CredentialChoice =
  | { use: 'user'; token: Secret; claims: PersonClaims }
  | { use: 'default'; reason: string };

export interface CredentialSources {
  settings: ExpirySettings;
  seal: Seal;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn'>;
}

/**
 * The beginning of the log line for a call without the person's token. Null: nothing is logged, because the policy does
 * not use the person's token.
 */
const INSTEAD: Readonly<Record<CredentialPolicy, string | null>> = {
  'user-or-default': 'tool uses default credentials',
  user: 'tool needs sign-in',
  exchange: 'tool needs sign-in',
  default: null,
  none: null,
};

/**
 * Reasons why this message removed a stored token that was meant to be used. They are the cause if the token is missing
 * when a call is made.
 */
const GIVEN_UP: readonly string[] = [
  'stored_token_expired',
  'stored_token_unreadable',
] satisfies NobodyReason[];

/**
 * Chooses the credentials for a tool by the documented rules, in their documented order (agentd-api(7), "How the
 * credentials are chosen"). One more check keeps one person's token out of another person's message: the stored context
 * must belong to the channel user who sent this message, and to the person for whom it acts. The token was validated
 * when it was stored. Only its expiry is checked again, since a message may have waited.
 * Never rejects: if anything is wrong, the person's token is not used, so the call has fewer rights.
 */
export async function chooseCredentials(
  context: RequestContext | null,
  { settings, seal, clock, log }: CredentialSources,
  policy: CredentialPolicy = 'user-or-default',
): Promise<CredentialChoice> {
  if (!context) return byDefault('no_request_context', 'warn');

  let session: Session | null;
  try {
    session = await context.readSession();
  } catch (err) {
    return byDefault('session_unreachable', 'warn', err);
  }
  if (!session) return byDefault('session_not_found', 'warn');

  const stored = session.metadata.jwt_context;
  const because = context.acts_for_nobody_because ?? 'no_token';
  if (!stored?.has_jwt || !session.credential_owner)
    return GIVEN_UP.includes(because) ? byDefault(because, 'warn') : byDefault('no_jwt_context', 'info');

  if (context.acts_for === null) return byDefault(because, 'info');
  if (
    session.credential_owner.person !== context.acts_for ||
    session.credential_owner.user_id !== context.user_id
  ) {
    return byDefault('other_sender', 'info');
  }

  if (hasExpired(stored, settings, clock.now())) return byDefault('stored_token_expired', 'warn');

  const token = storedToken(session, seal);
  if (token === null) return byDefault('stored_token_unreadable', 'warn');
  return { use: 'user', token: new Secret(token), claims: claimsOf(token, stored) };

  function byDefault(reason: string, level: 'info' | 'warn', err?: unknown): CredentialChoice {
    const fields = { request_id: context?.request_id, reason, ...(err === undefined ? {} : { err }) };
    const instead = INSTEAD[policy];
    if (instead !== null) log[level](fields, `${instead}: ${reason}`);
    return { use: 'default', reason };
  }
}

/** The claims exactly as in the token: a claim that is bound to a parameter must keep its type. */
function claimsOf(token: string, { user_id, email }: JwtContext): PersonClaims {
  return Object.freeze({ sub: user_id, ...decodePayload(token), email });
}
