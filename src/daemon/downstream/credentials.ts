import type { RequestContext } from '../agent/context.ts';
import type { Clock } from '../clock.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../log.ts';
import { Secret } from '../secret.ts';
import { type ExpirySettings, hasExpired, storedToken } from '../session/jwt-context.ts';
import type { Session } from '../session/session.ts';

/** Whose credentials a downstream call uses, and where they are the default ones, why. */
export type CredentialChoice =
  | { use: 'user'; token: Secret /** Of the user's token. */; email: string }
  | { use: 'default'; reason: string };

export interface CredentialSources {
  settings: ExpirySettings;
  seal: Seal;
  clock: Clock;
  log: Pick<Log, 'info' | 'warn'>;
}

/**
 * The documented choice of credentials for a tool (service.md, "Tool credential selection"), in its order,
 * and one check that keeps one person's token out of another's message: the stored context must be that of
 * the person and the channel user whom this message acts for. The token was validated when it came; here
 * only its expiry is looked at again, since a message may have waited (decisions §8).
 *
 * Never rejects: whatever is amiss means default credentials, whose reach is smaller.
 */
export async function chooseCredentials(
  context: RequestContext | undefined,
  { settings, seal, clock, log }: CredentialSources,
): Promise<CredentialChoice> {
  if (!context) return byDefault('no_request_context', 'warn');

  let session: Session | null;
  try {
    session = await context.session_service.find(context.session_id);
  } catch (err) {
    return byDefault('session_unreachable', 'warn', err);
  }
  if (!session) return byDefault('session_not_found', 'warn');

  const stored = session.metadata.jwt_context;
  if (!stored?.has_jwt || !session.credential_owner) return byDefault('no_jwt_context', 'info');

  if (context.acts_for === null) return byDefault(context.acts_for_nobody_because ?? 'no_token', 'info');
  if (
    session.credential_owner.person !== context.acts_for ||
    session.credential_owner.user_id !== context.user_id
  ) {
    return byDefault('other_sender', 'info');
  }

  if (hasExpired(stored, settings, clock.now())) return byDefault('stored_token_expired', 'warn');

  const token = storedToken(session, seal);
  if (token === null) return byDefault('stored_token_unreadable', 'warn');
  return { use: 'user', token: new Secret(token), email: stored.email };

  function byDefault(reason: string, level: 'info' | 'warn', err?: unknown): CredentialChoice {
    const fields = { request_id: context?.request_id, reason, ...(err === undefined ? {} : { err }) };
    log[level](fields, `tool uses default credentials: ${reason}`);
    return { use: 'default', reason };
  }
}
