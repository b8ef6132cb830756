import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { NobodyReason, Principal } from '../identity/identity.ts';
import { hasExpired, jwtContext, sealRecord, statesPassed, storedToken } from '../session/jwt-context.ts';
import { generateSessionId, type Session, sessionTag } from '../session/session.ts';
import { ClaimLost } from '../store/failures.ts';
import { newSession } from './open-session.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Answering, Identified, Locked, Opened, Resolved } from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'settings' | 'clock' | 'log'>;

type Turn = Answering & Identified & Locked & Opened;

/** The decision about a message: its session after the change, and whom its tools act for. */
interface Decision {
  session: Session;
  principal: Principal;
}

/**
 * Decides whom the tools act for in this message (agentd-identity(7), "The identity of a message").
 *
 * A valid token replaces `jwt_context`. An invalid token, or an explicit null, clears it. Without a token, the stored
 * context is used only if the session's id is a secret that the daemon generated, and only for the channel user who
 * brought the token. On a platform, the sender's link is looked up for each message. The context is set or cleared each
 * time, so that no token stays in a shared thread.
 *
 * Sign-in changes a generated id that nobody owned: the client that began the session knows the id, and must not speak
 * as the person after sign-in. If the message with the token creates the session, the session keeps its id.
 *
 * If the owner, the context or the user's other id changes, the session is stored before the run, so that the change
 * remains if the run fails. A new session without an owner is stored with the turn. Adds `principal`, and the session
 * with its id. Notifies the outlet that the answer has begun, if lock-session has not. Throws `unavailable` if the claim
 * is lost, or if the store cannot be reached.
 */
export const resolvePrincipal: Step<Turn, Resolved> = {
  name: 'resolve-principal',
  async run(turn, services: Uses, line) {
    const resolved = (await resolve(turn, services)) ?? (await resolve(begunAnew(turn, services), services));
    if (resolved === null) throw new ClaimLost();
    const { principal, states, ...opened } = resolved;
    const { session_id } = opened.session;
    if (principal.person === null) {
      line.verdict = EXPECTED.includes(principal.reason) ? 'ok' : 'fallback';
      line.reason = principal.token_reason ?? principal.reason;
      line.detail = { state: 'NoJWT', states, credentials: 'default' };
    } else {
      line.reason = turn.credential.kind === 'person' ? 'token_bound' : 'stored_context';
      line.detail = { state: 'ValidJWT', states, credentials: 'user', sub: principal.claims.sub };
    }
    if (session_id !== turn.session_id) line.detail.former_id = turn.session_id;
    if (!turn.has_started) turn.outlet.started(session_id);
    return { ...opened, session_id, principal };
  },
};

type SessionChange = Pick<Resolved, 'session' | 'session_origin' | 'changes'>;

/** @returns null if the session has ended since it was opened. @throws ClaimLost */
async function resolve(
  turn: Turn,
  services: Uses,
): Promise<(SessionChange & { principal: Principal; states: string }) | null> {
  const { session, principal } = await decideNow(turn, services);
  const storing = store(turn, withTimeToRun(session, services), services);
  const stored = storing instanceof Promise ? await storing : storing;
  return stored && { ...stored, principal, states: statesPassed(turn, principal).join(' > ') };
}

/**
 * The turn that continues if an administrator has ended the session since it was opened. The message begins a new
 * session with the same id, and everything that was stored in the old session is ignored. Other people may know the id
 * of the old session, so it is no longer a secret.
 */
function begunAnew(turn: Turn, services: Uses): Turn {
  const { session_id, former_id } = turn.session;
  const session = { ...newSession(turn, services), session_id, former_id, generated: false };
  // Time has passed since the turn began, so the person may have signed out.
  const begun = { ...turn.begun, signed_out: null };
  return { ...turn, session, session_origin: 'new', begun };
}

/** Reasons that are normal, because nobody claimed that the sender is signed in. */
const EXPECTED: readonly NobodyReason[] = ['no_token', 'no_link', 'signed_out'];

/**
 * The decision, unless the person has signed out at the site: a message may have waited since its token was validated,
 * and a stored token is not validated again. For the token of the message, this was read when its turn began.
 */
async function decideNow(turn: Turn, services: Uses): Promise<Decision> {
  const decision = decide(turn, services);
  const { principal } = decision;
  if (principal.person === null) return decision;
  const known = turn.credential.kind === 'person' ? turn.begun.signed_out : null;
  if (!(known ?? (await services.store.signOutMarks.covers(principal.claims)))) return decision;
  const reason = 'signed_out_at_site';
  services.log.warn(
    { request_id: turn.request_id, reason },
    'the person has signed out; using default credentials',
  );
  return { session: clearCredential(turn.session), principal: nobody(reason) };
}

function decide(turn: Turn, services: Uses): Decision {
  const { credential, session, message } = turn;
  switch (credential.kind) {
    case 'person': {
      const { user, claims, person, expires_at } = credential.verdict;
      const bound = { user_id: message.user_id, person };
      const owner = session.owner ?? person;
      const isStored =
        session.credential_owner?.user_id === bound.user_id &&
        session.credential_owner.person === person &&
        storedToken(session, services.seal) === user.token.reveal();
      if (isStored && session.owner === owner) return { session, principal: { person, claims } };
      const record = sealRecord(sessionTag(session), message.user_id);
      const jwt_context = jwtContext(user, expires_at, services.seal, record);
      return {
        session: { ...signedIn(turn), owner, credential_owner: bound, metadata: { jwt_context } },
        principal: { person, claims },
      };
    }
    case 'invalid':
      return {
        session: clearCredential(session),
        principal: { person: null, reason: 'invalid_token', token_reason: credential.reason },
      };
    case 'expired':
      return {
        session: clearCredential(session),
        principal: { ...nobody('stored_token_expired'), expiry_notified: credential.expiry_notified },
      };
    case 'signed-out':
      return { session: clearCredential(session), principal: nobody('signed_out') };
    case 'none':
      // On a channel that looks up a link for each message, the context of an earlier message no longer counts.
      return credential.reason === 'no_token'
        ? withoutToken(turn, services)
        : { session: clearCredential(session), principal: nobody(credential.reason) };
  }
}

/** The session with the ids that it has after sign-in. */
function signedIn({ session, session_origin, channel, message }: Turn): Session {
  if (session_origin !== 'found' || !session.generated || session.owner !== null) return session;
  const session_id = generateSessionId(channel.name, message.user_id);
  return { ...session, session_id, former_id: session.session_id };
}

/** The decision about a message without a token. The stored context is used if it is valid for this message. */
function withoutToken({ session, message, request_id }: Turn, services: Uses): Decision {
  const { jwt_context } = session.metadata;
  if (!jwt_context || !session.credential_owner) return { session, principal: nobody('no_token') };
  if (message.shared || session.credential_owner.user_id !== message.user_id) {
    return { session: clearCredential(session), principal: nobody('other_sender') };
  }
  if (!session.generated) return { session, principal: nobody('client_chosen_session') };
  if (hasExpired(jwt_context, services.settings, services.clock.now())) {
    services.log.warn(
      { request_id, reason: 'stored_token_expired' },
      'the stored token has expired; using default credentials',
    );
    return { session: clearCredential(session), principal: nobody('stored_token_expired') };
  }
  const token = storedToken(session, services.seal);
  if (token === null) {
    services.log.warn({ request_id }, 'no encryption key can unseal the stored token');
    return { session: clearCredential(session), principal: nobody('stored_token_unreadable') };
  }
  return {
    session,
    principal: { person: session.credential_owner.person, claims: claimsOfStoredToken(token) },
  };
}

function nobody(reason: NobodyReason) {
  return { person: null, reason } as const;
}

function clearCredential(session: Session): Session {
  return session.metadata.jwt_context || session.credential_owner
    ? { ...session, metadata: {}, credential_owner: null }
    : session;
}

/**
 * The session with a lifetime that covers the longest time that its message may take, so that the session does not
 * expire during that time. At the end of the turn, SESSION_TTL_SECONDS begins again.
 */
function withTimeToRun(session: Session, { settings, clock }: Uses): Session {
  const seconds = settings.AGENT_QUEUE_WAIT_SECONDS + settings.AGENT_TIMEOUT_SECONDS;
  const until = clock.now() + seconds * 1000;
  return session.expires_at < until ? { ...session, expires_at: until } : session;
}

/**
 * Stores the session, or prepares to store it with the turn.
 * @returns null if the session has ended since it was opened.
 * @throws ClaimLost
 */
function store(turn: Turn, session: Session, services: Uses): SessionChange | Promise<SessionChange | null> {
  const { session_origin, changes, found } = turn;
  const isNobodys = session.owner === null;
  if (session_origin === 'new' && isNobodys)
    return { session, session_origin, changes: { ...changes, session } };
  const isStored = session_origin === 'found' && session.alias_id === found?.alias_id;
  if (isStored && session === turn.session) return { session, session_origin, changes };
  return storeNow(turn, session, services);
}

async function storeNow(
  { claim, credential, session_origin, changes }: Turn,
  session: Session,
  { store: { sessions } }: Uses,
): Promise<SessionChange | null> {
  const outcome = await sessions.save(
    claim,
    session,
    session_origin === 'found' ? 'changed' : session_origin,
    credential.kind === 'person' ? credential.verdict.claims : null,
  );
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'ended' ? null : { session, session_origin, changes };
}
