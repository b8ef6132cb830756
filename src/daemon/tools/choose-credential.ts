import type { RequestContext } from '../agent/context.ts';
import { decodeStoredToken, type UntrustedObject } from '../identity/decode-token.ts';
import type { NobodyReason, SignOutMarks } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import { type ExpirySettings, hasExpired, storedToken } from '../session/jwt-context.ts';
import type { JwtContext, Session } from '../session/session.ts';
import { Secret } from '../settings/secret.ts';
import type { Clock } from '../time/clock.ts';
import { type Refusal, refusal, SESSION_UNREACHABLE, signInNeeded } from './call-outcome.ts';
import type { CredentialPolicy, PersonClaims, Tool } from './tool.ts';

/** The token of the person for whom a message acts, or why there is no usable token. */
export type CredentialChoice =
  | { use: 'user'; token: Secret; claims: PersonClaims; whyEnded: WhyEnded }
  | { use: 'default'; reason: string };

/**
 * Why the token must no longer be used although it has not expired: its person has signed out at the site, or the
 * sender's link has changed. Null if it may be used. Rejects if that cannot be found out.
 */
export type WhyEnded = () => Promise<NobodyReason | null>;

export interface CredentialSources {
  settings: ExpirySettings;
  seal: Seal;
  marks: SignOutMarks;
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
  'signed_out_at_site',
] satisfies NobodyReason[];

/**
 * Chooses the credentials for a tool by the documented rules, in their documented order (agentd-api(7), "How the
 * credentials are chosen"). One more check keeps one person's token out of another person's message: the stored context
 * must belong to the channel user who sent this message, and to the person for whom it acts. The token was validated
 * when it was stored. Only its expiry is checked again, and whether it has ended (`WhyEnded`), since a message may have
 * waited.
 * Never rejects: if anything is wrong, the person's token is not used, so the call has fewer rights.
 */
export async function chooseCredentials(
  context: RequestContext | null,
  { settings, seal, marks, clock, log }: CredentialSources,
  policy: CredentialPolicy,
): Promise<CredentialChoice> {
  if (!context) return byDefault('no_request_context', 'warn');

  let session: Session | null;
  try {
    session = await context.readSession();
  } catch (err) {
    return byDefault(SESSION_UNREACHABLE, 'warn', err);
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
  const { claims, payload } = decodeStoredToken(token);
  const whyEnded = async () =>
    (await marks.covers(claims)) ? ('signed_out_at_site' as const) : context.whyUnlinked();
  try {
    const ended = await whyEnded();
    if (ended !== null) return byDefault(ended, 'warn');
  } catch (err) {
    return byDefault(SESSION_UNREACHABLE, 'warn', err);
  }
  return { use: 'user', token: new Secret(token), claims: readClaims(payload, stored), whyEnded };

  function byDefault(reason: string, level: 'info' | 'warn', err?: unknown): CredentialChoice {
    const fields = { request_id: context?.request_id, reason, ...(err === undefined ? {} : { err }) };
    const instead = INSTEAD[policy];
    if (instead !== null) log[level](fields, `${instead}: ${reason}`);
    return { use: 'default', reason };
  }
}

/** The claims exactly as in the token: a claim that is bound to a parameter must keep its type. */
function readClaims(payload: UntrustedObject | null, { user_id, email }: JwtContext): PersonClaims {
  return Object.freeze({ sub: user_id, ...payload, email });
}

export type CallCredential =
  /** `fallback`: whether the call is repeated with default credentials after a 401. */
  | { use: 'user'; token: Secret; whyEnded: WhyEnded; fallback: boolean }
  /** `token`: the person's own token, which is exchanged for another one. */
  | { use: 'exchange'; token: Secret; whyEnded: WhyEnded }
  /** `because`: why the person's token is not used; null if the policy asks for the default credentials. */
  | { use: 'default'; because: string | null }
  | { use: 'none' };

/**
 * Chooses the credential of a call by the policy of the tool, the origin of its source, and the person whom the message
 * acts for (agentd-agent(7), "Credentials"). If the origin does not allow the policy, the call is refused. An entry of
 * the configuration file cannot have a policy that its origin does not allow, but a source might return a tool that has
 * such a policy.
 */
export function chooseCredential(tool: Tool, person: CredentialChoice): CallCredential | Refusal {
  const { target } = tool.source;
  switch (tool.credentials) {
    case 'none':
      return { use: 'none' };
    case 'default':
      if (target === null) return { use: 'none' };
      return target.is_api ? { use: 'default', because: null } : notAllowed();
    case 'exchange':
      if (!target?.exchange) return notAllowed();
      if (person.use !== 'user') return signInNeeded(person.reason);
      return { use: 'exchange', token: person.token, whyEnded: person.whyEnded };
    case 'user':
      if (target !== null && !target.may_see_user_token) return notAllowed();
      if (person.use !== 'user') return signInNeeded(person.reason);
      if (target === null) return { use: 'none' };
      return { use: 'user', token: person.token, whyEnded: person.whyEnded, fallback: false };
    case 'user-or-default':
      if (target === null) return { use: 'none' };
      if (!target.is_api) return notAllowed();
      if (person.use !== 'user') return { use: 'default', because: person.reason };
      return { use: 'user', token: person.token, whyEnded: person.whyEnded, fallback: mayFallBack(tool) };
  }
}

/**
 * Whether the call may be repeated with default credentials. They never act for a person, so only a read without bound
 * parameters may be repeated.
 */
function mayFallBack({ effect, bind }: Tool): boolean {
  return effect === 'read' && Object.keys(bind).length === 0;
}

function notAllowed(): Refusal {
  return refusal(
    'credentials_not_allowed',
    'This tool is not set up correctly: its credentials may not be sent to its address.',
  );
}
