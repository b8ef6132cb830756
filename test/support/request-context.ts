import { type RequestContext, RunTaint } from '../../src/daemon/agent/context.ts';
import { type PersonKey, personKey } from '../../src/daemon/identity/identity.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { sealRecord } from '../../src/daemon/session/jwt-context.ts';
import type { Session } from '../../src/daemon/session/session.ts';
import { systemClock } from '../../src/daemon/time/clock.ts';
import { Trace } from '../../src/daemon/trace/trace.ts';

export interface BoundUser {
  sub: string;
  email: string;
  token: string;
  /** ms since the epoch; default: in an hour. */
  expires_at?: number;
}

/** A session in which the channel user `user_id` has sent this token, or no token. */
export function sessionOf(
  session_id: string,
  user_id: string,
  user: BoundUser | null,
  seal = createSeal(undefined),
): Session {
  const person = user && personKey(user);
  const session: Session = {
    session_id,
    former_id: null,
    user_id,
    platform: 'webchat',
    namespace: 'web',
    generated: true,
    owner: person,
    metadata: {},
    credential_owner: person && { user_id, person },
    turns: 1,
    created_at: 0,
    last_active_at: 0,
    expires_at: Number.MAX_SAFE_INTEGER,
  };
  if (user) {
    session.metadata.jwt_context = {
      has_jwt: true,
      user_id: user.sub,
      email: user.email,
      token: seal.close(user.token, sealRecord(session_id, user_id)),
      token_exp: new Date(user.expires_at ?? Date.now() + 3_600_000).toISOString(),
    };
  }
  return session;
}

/** A context, with the trace and the signal of the run that gets it. */
export type TestContext = RequestContext & { trace: Trace; signal: AbortSignal };

/** The context of a message in this session. It acts for the person whose token is bound to the session. */
export function contextOf(session: Session | null, rest: Partial<TestContext> = {}): TestContext {
  const acts_for: PersonKey | null = session?.credential_owner?.person ?? null;
  return {
    session_id: session?.session_id ?? 'unknown',
    user_id: session?.user_id ?? 'visitor',
    app_name: 'agentd',
    readSession: async () => session,
    whyUnlinked: async () => null,
    acts_for,
    acts_for_nobody_because: acts_for === null ? 'no_token' : null,
    own_journal: null,
    memory: null,
    taint: new RunTaint(),
    trace: new Trace(systemClock),
    request_id: 'request-1',
    signal: new AbortController().signal,
    ...rest,
  };
}
