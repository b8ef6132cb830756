import type { RequestContext } from '../../daemon/agent/context.ts';
import { RunTaint } from '../../daemon/agent/run-taint.ts';
import { systemClock } from '../../daemon/clock.ts';
import type { TokenVerdict } from '../../daemon/identity/identity.ts';
import { jwtContext, sealRecord } from '../../daemon/session/jwt-context.ts';
import type { Session } from '../../daemon/session/session.ts';
import { Trace } from '../../daemon/trace/trace.ts';
import { SEAL } from './open-registry.ts';

const ID = 'agentd-tools-call';

/**
 * The context of a call by an operator: like the context of a message from this person, or from somebody who is not
 * signed in. It is not stored.
 */
export function operatorContext(
  person: Extract<TokenVerdict, { valid: true }> | null,
  signal: AbortSignal,
): RequestContext {
  const session = person === null ? nobodysSession() : sessionOf(person);
  return {
    session_id: ID,
    user_id: ID,
    app_name: 'agentd',
    session_service: { find: async () => session },
    acts_for: person?.person ?? null,
    acts_for_nobody_because: person === null ? 'no_token' : null,
    own_journal: null,
    memory: null,
    taint: new RunTaint(),
    trace: new Trace(systemClock),
    request_id: ID,
    signal,
  };
}

function nobodysSession(): Session {
  return {
    session_id: ID,
    former_id: null,
    user_id: ID,
    platform: 'cli',
    namespace: 'cli',
    generated: true,
    owner: null,
    metadata: {},
    credential_owner: null,
    turns: 0,
    created_at: 0,
    last_active_at: 0,
    expires_at: Number.MAX_SAFE_INTEGER,
  };
}

function sessionOf({ user, person, expires_at }: Extract<TokenVerdict, { valid: true }>): Session {
  return {
    ...nobodysSession(),
    owner: person,
    credential_owner: { user_id: ID, person },
    metadata: { jwt_context: jwtContext(user, expires_at, SEAL, sealRecord(ID, ID)) },
  };
}
