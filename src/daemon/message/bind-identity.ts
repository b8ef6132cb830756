import { claimsOfStoredToken } from '../identity/stored-token.ts';
import type { Services } from '../services.ts';
import { generateSessionId } from '../session/ids.ts';
import { hasLapsed, jwtContext, sealRecord, storedToken } from '../session/jwt-context.ts';
import { type Session, tagOf } from '../session/session.ts';
import type { Step } from './sequence.ts';
import type { Acting, Arrived, Bound, Guarded, Identified, InTurn, NobodyReason, Opened } from './turn.ts';

type Turn = Arrived & Identified & InTurn & Opened & Guarded;

/**
 * Whom the tools act for in this message (decisions §3; states of service.md, "Session token-context
 * lifecycle"). A valid token replaces `jwt_context`, an invalid one or an explicit null clears it; without
 * a token the stored one stays in use only where the session's id is a secret of the daemon's making, and
 * only for the channel user that brought it. Channels that answer later look up the sender's own link for
 * each message: there it is set or cleared each time, so that in a shared thread nobody's token stays.
 *
 * Sign-in changes a generated id that nobody owned: whoever began the session knows it, and must not speak as the
 * person from then on. A session that is created by the token's own message keeps its id.
 *
 * Adds `acting`, and the session as it is stored now, with its id. Tells the reader that the answer has begun. Never
 * ends the turn.
 */
export const bindIdentity: Step<Turn, Bound & { session: Session }> = {
  name: 'bind-identity',
  async run(turn, services, line) {
    const { session: decided, acting } = decide(turn, services);
    const session = held(decided, services);
    await save(turn, session, services);
    const { session_id } = session;
    if (acting.person === null) {
      line.verdict = AS_IT_SHOULD_BE.includes(acting.reason) ? 'ok' : 'fallback';
      line.reason = acting.token_reason ?? acting.reason;
      line.detail = { state: 'NoJWT', credentials: 'default' };
    } else {
      line.reason = turn.presented.kind === 'person' ? 'token_bound' : 'stored_context';
      line.detail = { state: 'ValidJWT', credentials: 'user' };
    }
    if (session_id !== turn.session_id) line.detail.former_id = turn.session_id;
    if (!turn.told_started) turn.emit({ type: 'started', session_id });
    return { session, session_id, acting };
  },
};

/** Nobody said that the sender is signed in. */
const AS_IT_SHOULD_BE: readonly NobodyReason[] = ['no_token', 'no_link', 'signed_out'];

function decide(turn: Turn, services: Services): { session: Session; acting: Acting } {
  const { presented, session, message } = turn;
  switch (presented.kind) {
    case 'person': {
      const { user, claims, person, expires_at } = presented.verdict;
      const bound = { user_id: message.user_id, person };
      const owner = session.owner ?? person;
      const kept =
        session.bound?.user_id === bound.user_id &&
        session.bound.person === person &&
        storedToken(session, services.seal) === user.token.reveal();
      if (kept && session.owner === owner) return { session, acting: { person, claims } };
      const record = sealRecord(tagOf(session), message.user_id);
      const jwt_context = jwtContext(user, expires_at, services.seal, record);
      return {
        session: { ...signedIn(turn), owner, bound, metadata: { jwt_context } },
        acting: { person, claims },
      };
    }
    case 'invalid':
      return {
        session: cleared(session),
        acting: {
          person: null,
          reason: 'invalid_token',
          token_reason: presented.reason,
          lapse_told: presented.lapse_told ?? false,
        },
      };
    case 'signed-out':
      return { session: cleared(session), acting: { person: null, reason: 'signed_out' } };
    case 'none':
      // Where a link is looked up for each message, what an earlier one has stored is over.
      return presented.reason === 'no_token'
        ? withoutToken(turn, services)
        : { session: cleared(session), acting: { person: null, reason: presented.reason } };
  }
}

/** The session with the ids that it has after sign-in. */
function signedIn({ session, session_is_new, channel, message }: Turn): Session {
  if (session_is_new || !session.generated || session.owner !== null) return session;
  const session_id = generateSessionId(channel.name, message.user_id);
  return { ...session, session_id, former_id: session.session_id };
}

/** The stored context, where it may speak for this message. */
function withoutToken(turn: Turn, services: Services): { session: Session; acting: Acting } {
  const { session, message } = turn;
  const { jwt_context } = session.metadata;
  if (!jwt_context || !session.bound) return { session, acting: { person: null, reason: 'no_token' } };
  if (turn.message.shared || session.bound.user_id !== message.user_id) {
    return { session: cleared(session), acting: { person: null, reason: 'other_sender' } };
  }
  if (!session.generated) return { session, acting: { person: null, reason: 'client_chosen_session' } };
  if (hasLapsed(jwt_context, services.settings, services.clock.now())) {
    return { session: cleared(session), acting: { person: null, reason: 'stored_token_expired' } };
  }
  const token = storedToken(session, services.seal);
  if (token === null) {
    services.log.warn({ request_id: turn.request_id }, 'stored token does not open with any encryption key');
    return { session: cleared(session), acting: { person: null, reason: 'stored_token_unreadable' } };
  }
  return { session, acting: { person: session.bound.person, claims: claimsOfStoredToken(token) } };
}

function cleared(session: Session): Session {
  return session.metadata.jwt_context || session.bound ? { ...session, metadata: {}, bound: null } : session;
}

/**
 * A session does not expire while its message is being answered: until then it has the time that a run may
 * take. The end of the turn sets SESSION_TTL_SECONDS from then (decisions §3).
 */
function held(session: Session, { settings, clock }: Services): Session {
  const seconds = settings.AGENT_QUEUE_WAIT_SECONDS + settings.AGENT_TIMEOUT_SECONDS;
  const until = clock.now() + seconds * 1000;
  return session.expires_at < until ? { ...session, expires_at: until } : session;
}

async function save(turn: Turn, session: Session, services: Services): Promise<void> {
  if (turn.session_is_new) await services.store.sessions.save(session, 'new');
  else if (session !== turn.session) {
    // An administrator may have ended it since it was opened; the message then begins it anew.
    const kept = await services.store.sessions.save(session, 'changed');
    if (!kept) await services.store.sessions.save({ ...session, turns: 0 }, 'new');
  }
}
